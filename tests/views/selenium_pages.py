"""What the tests of pages in a browser share."""

LAPTOP, PHONE = (1280, 800), (390, 844)


def visiting(browser, folder):
    """Yield visit(page, size, scheme) -> the browser there; at the end there must be no message on its console."""

    def load(text, size=LAPTOP, scheme="light", hash=""):
        screen = {
            "width": size[0],
            "height": size[1],
            "deviceScaleFactor": 1,
            "mobile": size == PHONE,
        }
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        (folder / "g.html").write_text(text, encoding="utf-8")
        browser.get("about:blank")
        browser.get((folder / "g.html").as_uri() + hash)
        return browser

    yield load
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert browser.get_log("browser") == []


def title(browser):
    return browser.find_element("css selector", "#details h2").text


def key_of(browser, label):
    found = browser.execute_script(
        "return data.views.flatMap((v) => v.nodes).find((n) => n.label === arguments[0]).id", label
    )
    assert found
    return found


def click(browser, key):
    browser.execute_script(
        "document.getElementById(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))",
        key,
    )
