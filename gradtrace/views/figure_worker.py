"""Draw a program's figures in a separate process: python -P -m gradtrace.views.figure_worker CHANNEL < job.

stdin is JSON: {"calls": [...], "kinds": {number: format}, "seconds": s, "bytes": n}, with the calls as
`lang/figures.py` records them and the format of each call that makes pictures. Its answers go to the descriptor
CHANNEL: for each a header (the number of the call, a kind, a length) and so many bytes: a picture, or the text of an
error for a call that matplotlib refused. The last one is END. Only the names in the lists below can be called. After
matplotlib has been loaded, the process gives up its rights (`gradtrace.sandbox`), and an audit hook refuses, with a
message, all but reading fonts and libraries.
"""

from __future__ import annotations

import io
import json
import operator
import os
import struct
import sys
from typing import Any

from gradtrace.sandbox import confine
from gradtrace.sandbox.kernel import Rights


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYPLOT = words(
    """annotate arrow autoscale axes axhline axhspan axis axline axvline axvspan bar bar_label barbs barh box boxplot
    broken_barh cla clabel clf clim close cohere colorbar contour contourf csd delaxes errorbar eventplot figlegend
    figtext figure fill fill_between fill_betweenx gca gcf gci get_cmap get_fignums getp gray grid hexbin hist hist2d
    hlines hot imshow jet legend locator_params loglog magma margins matshow minorticks_off minorticks_on pcolor
    pcolormesh pie plasma plot polar psd quiver quiverkey rc rcdefaults savefig sca scatter sci semilogx semilogy show
    specgram spy stackplot stairs stem step streamplot subplot subplot_mosaic subplot2grid subplots subplots_adjust
    suptitle table text tick_params ticklabel_format tight_layout title tricontour tricontourf tripcolor triplot twinx
    twiny violinplot viridis vlines xcorr xlabel xlim xscale xticks ylabel ylim yscale yticks"""
)
METHODS = words(
    """add_artist add_axes add_collection add_collection3d add_gridspec add_image add_legend add_line add_patch
    add_subplot autofmt_xdate autoscale_view bar3d clear contour3D contourf3D cla colors get_bbox get_children
    get_color get_facecolor get_height get_label get_legend get_legend_handles_labels get_lines get_position
    get_size_inches get_title get_width get_window_extent get_x get_xaxis get_xlabel get_xlim get_xticklabels get_xticks
    get_xy get_y get_yaxis get_ylabel get_ylim get_yticklabels get_yticks get_zlim has_data hide invert_xaxis
    invert_yaxis label_outer legend_elements new_subplot plot3D plot_surface plot_trisurf plot_wireframe relim remove
    scatter3D set set_adjustable set_alpha set_array set_aspect set_axis_off set_axis_on set_axisbelow set_bad
    set_box_aspect set_bounds set_cmap set_clim set_color set_constrained_layout set_data set_data_3d set_dpi
    set_ec set_edgecolor set_facecolor set_fc set_figheight set_figwidth set_fontsize set_frame_on set_fontweight
    set_height set_horizontalalignment set_label set_label_coords set_label_position set_label_text set_layout_engine
    set_linestyle set_linewidth set_lw set_ls set_major_formatter set_major_locator set_marker set_markersize
    set_minor_locator set_offsets set_over set_pane_color set_position set_powerlimits set_proj_type set_radius
    set_rlabel_position set_rmax set_rotation set_scientific set_size set_size_inches set_text set_theta_offset
    set_thetagrids set_ticklabels set_ticks set_ticks_position set_tick_params set_tight_layout set_title set_under
    set_va set_ha set_verticalalignment set_visible set_width set_xbound set_xdata set_xlabel set_xlim set_xlim3d
    set_xmargin set_xscale set_xticklabels set_xticks set_xy set_ybound set_ydata set_ylabel set_ylim set_ylim3d
    set_ymargin set_yscale set_yticklabels set_yticks set_zlabel set_zlim set_zlim3d set_zorder set_zscale set_zticks
    set_zticklabels sticky_edges subgridspec subplots tick_bottom tick_left tick_right tick_top to_rgba update
    view_init voxels"""
)
MAKERS = {
    "matplotlib.patches": """Arc Arrow Circle Ellipse FancyArrow FancyArrowPatch FancyBboxPatch Patch Polygon
        Rectangle Wedge""",
    "matplotlib.lines": "Line2D",
    "matplotlib.colors": """BoundaryNorm LinearSegmentedColormap ListedColormap LogNorm Normalize SymLogNorm
        TwoSlopeNorm from_list to_hex to_rgb to_rgba""",
    "matplotlib.ticker": """AutoMinorLocator FixedFormatter FixedLocator FormatStrFormatter LogFormatter LogLocator
        MaxNLocator MultipleLocator NullFormatter NullLocator PercentFormatter ScalarFormatter""",
    "matplotlib.gridspec": "GridSpec GridSpecFromSubplotSpec",
    "matplotlib.cm": "ScalarMappable get_cmap",
    "matplotlib.collections": "LineCollection PatchCollection PathCollection PolyCollection",
    "mpl_toolkits.axes_grid1": "ImageGrid make_axes_locatable append_axes",
}
PARTS = words(
    """T axes axvline ax ax1 ax2 bottom canvas cax cm cmaps collections colorbar colormaps colors containers elevation
    errorbar fig figure gridspec layout left legend legendHandles legend_handles lines patch patches position right
    rcParams spines subplotpars texts ticker top transAxes transData transFigure w_xaxis xaxis yaxis zaxis"""
)
COLOURS = words(
    """Accent Blues BuGn CMRmap Dark2 GnBu Greens Greys OrRd Oranges PRGn Paired Pastel1 Pastel2 PiYG PuBu PuOr
    PuRd Purples RdBu RdBu_r RdGy RdPu RdYlBu RdYlBu_r RdYlGn RdYlGn_r Reds Set1 Set2 Set3 Spectral Wistia YlGn YlGnBu
    YlOrBr YlOrRd afmhot autumn binary bone brg bwr cividis cool coolwarm copper cubehelix flag gist_earth gist_heat
    gist_rainbow gnuplot gray gray_r hot hsv inferno jet magma nipy_spectral ocean pink plasma prism rainbow seismic
    spring summer tab10 tab20 tab20b tab20c terrain turbo twilight viridis viridis_r winter"""
)
STYLES = words("""bmh classic dark_background default fast fivethirtyeight ggplot grayscale seaborn-v0_8""")
RC = ("axes.", "figure.", "font.", "grid.", "image.", "legend.", "lines.", "scatter.", "text.color", "xtick.", "ytick.")
RC_REFUSED = ("axes.prop_cycle", "figure.hooks", "figure.raise_window")
# Keyword arguments that lead to files, programs or code.
REFUSED = words(
    """agg_filter backend canvas family_path fname font fontproperties font_properties FigureClass math_fontfamily
    metadata parse_math path_effects picker pil_kwargs sketch_params snap url usetex gid animated in_layout"""
)
PROP = ("size", "family", "weight", "style", "variant", "stretch")
TYPES = ("png", "svg", "pdf", "jpg")
HEADER = struct.Struct("!IBI")  # the three of these are also in figures.py
PICTURE, ERROR, END = range(3)
LARGEST = 20_000_000  # pixels of a figure


class Refused(Exception):
    """Raised for a call that is not allowed."""


def main() -> None:
    channel = open(int(sys.argv[1]), "wb")  # noqa: SIM115 - until the process ends
    given = json.load(sys.stdin)
    limit(given)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    warm_up(plt)
    confine.confine(Rights(write=(os.getcwd(),)))
    sys.addaudithook(hook(matplotlib))
    replay(given["calls"], Pictures(given["kinds"], channel), plt, matplotlib)
    send(channel, len(given["calls"]), END, b"")
    channel.close()


def send(channel: Any, number: int, kind: int, content: bytes) -> None:
    channel.write(HEADER.pack(number, kind, len(content)) + content)
    channel.flush()


class Pictures:
    """The channel, and the calls that make pictures with their formats; `number` is the current call."""

    def __init__(self, kinds: dict[str, str], channel: Any) -> None:
        self.kinds = kinds
        self.channel = channel
        self.number = 0

    def emit(self, figure: Any, how: dict[str, Any]) -> None:
        """Send the picture of a figure."""
        kind = self.kinds.get(str(self.number))
        if kind not in TYPES:
            raise Refused(kind)
        dpi = how.get("dpi") if isinstance(how.get("dpi"), (int, float)) else figure.dpi
        width, height = figure.get_size_inches()
        if width * height * dpi * dpi > LARGEST:
            raise ValueError(f"the figure has more than {LARGEST} pixels")
        out = io.BytesIO()
        figure.savefig(out, format=kind, **how)
        send(self.channel, self.number, PICTURE, out.getvalue())

    def tell(self, error: str) -> None:
        send(self.channel, self.number, ERROR, error[:300].encode("utf-8", "replace"))


def limit(given: dict[str, Any]) -> None:
    import resource

    for which, most in ((resource.RLIMIT_AS, given["bytes"]), (resource.RLIMIT_CPU, int(given["seconds"]) + 1)):
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def warm_up(plt: Any) -> None:
    """Import the parts of matplotlib that it would import later, when files can no longer be read."""
    import dateutil.parser  # noqa: F401
    import matplotlib.animation
    import matplotlib.collections
    import matplotlib.gridspec
    import matplotlib.ticker  # noqa: F401
    import mpl_toolkits.axes_grid1
    import mpl_toolkits.mplot3d  # noqa: F401

    figure = plt.figure()
    figure.add_subplot(111, projection="3d")
    figure.add_subplot(122).contour([[1, 2], [3, 4]])
    figure.text(0.5, 0.5, r"$\alpha^2$")
    for kind in TYPES:
        figure.savefig(io.BytesIO(), format=kind, dpi=20)
    plt.close("all")


def hook(matplotlib: Any) -> Any:
    """Refuse, as an audit hook, everything except reading fonts and libraries."""
    folders = [sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(os.__file__)), matplotlib.get_data_path()]
    folders += ["/usr/share/fonts", "/usr/local/share/fonts", "/usr/lib", os.path.expanduser("~/.fonts")]
    folders += [path for path in sys.path if path.endswith("site-packages")]
    roots = tuple(os.path.realpath(root) + os.sep for root in folders if root)
    refused = ("os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pty.", "tempfile.", "webbrowser.", "urllib.")
    harmless = ("os.listdir", "os.scandir", "os.walk")

    def check(event: str, args: Any) -> None:
        if event == "open":
            path, mode, flags = args
            reads = isinstance(flags, int) and flags & 3 == 0 and not (mode or "r").strip("rbt")
            if not reads or not isinstance(path, str) or not os.path.realpath(path).startswith(roots):
                raise Refused(f"no file is opened: {path}")
        elif event.startswith(refused) and event not in harmless:
            raise Refused(f"not allowed: {event}")

    return check


# ---- the calls


def replay(calls: list[dict[str, Any]], pictures: Pictures, plt: Any, matplotlib: Any) -> None:
    results: list[Any] = [None] * len(calls)
    for number, call in enumerate(calls):
        pictures.number = number
        try:
            results[number] = execute(call, results, pictures, plt, matplotlib)
        except Exception as error:
            results[number] = error
            if not isinstance(error, Refused):
                pictures.tell(f"{shown(call)}: {type(error).__name__}: {error}")


def shown(call: dict[str, Any]) -> str:
    return ".".join(str(step[1]) for step in call.get("path", ())) or "operation"


def execute(call: dict[str, Any], results: list[Any], pictures: Pictures, plt: Any, matplotlib: Any) -> Any:
    if "operator" in call:
        left, right = (value(arg, results, matplotlib) for arg in call["args"])
        name = call["operator"]
        return operate(name[1:], right, left) if name.startswith("r") else operate(name, left, right)
    *path, (kind, name) = [tuple(step) for step in call["path"]]
    args = [value(arg, results, matplotlib) for arg in call["args"]]
    kwargs = {key: value(arg, results, matplotlib) for key, arg in call["kwargs"].items()}
    if name == "savefig":
        return save(call, path, kwargs, results, pictures, plt, matplotlib)
    if name == "show":
        return show(pictures, plt)
    if call["root"] == "matplotlib.style" or (".", "style") in path:
        return use_style(args, plt)
    if name in ("__setitem__", "update") and path[-1:] == [(".", "rcParams")]:
        return settle(dict([args]) if name == "__setitem__" else {**(args[0] if args else {}), **kwargs}, matplotlib)
    if name == "rc":
        return settle({f"{args[0]}.{key}": one for key, one in kwargs.items()}, matplotlib)
    if kind != ".":
        raise Refused(name)
    checked(name, args, kwargs, call["root"], path)
    owner = follow(call["root"], path, results, matplotlib)
    if name in ("from_list", "append_axes") or not isinstance(owner, type):
        return getattr(owner, name)(*args, **kwargs)
    raise Refused(name)


def operate(name: str, left: Any, right: Any) -> Any:
    if not all(isinstance(side, (int, float)) or hasattr(side, "shape") for side in (left, right)):
        raise Refused(name)
    return getattr(operator, name)(left, right)


def checked(name: str, args: list[Any], kwargs: dict[str, Any], root: Any, path: list[Any]) -> None:
    """Raise Refused for a name or an argument that is not on the allow-lists."""
    known = name in METHODS or name in PYPLOT or name in COLOURS
    if isinstance(root, str) and root != "matplotlib.pyplot":
        known = name in MAKERS.get(".".join([root, *(step[1] for step in path if step[0] == ".")]), "").split()
        known = known or name in MAKERS.get(root, "").split() or name in COLOURS
    elif not known:
        known = any(name in names.split() for names in MAKERS.values())
    if not known:
        raise Refused(name)
    for key, one in kwargs.items():
        if key.startswith("_") or key in REFUSED:
            raise Refused(key)
        if key in ("prop", "fontdict", "textprops") and not (isinstance(one, dict) and not set(one) & set(REFUSED)):
            raise Refused(key)
        if key == "prop" and not set(one) <= set(PROP):
            raise Refused(key)
    if any(isinstance(arg, dict) and set(arg) & set(REFUSED) for arg in [*args, *kwargs.values()]):
        raise Refused(name)


def follow(root: Any, path: Any, results: list[Any], matplotlib: Any) -> Any:
    """Return the object at a path of attributes and indices."""
    if isinstance(root, str):
        names = root.split(".")
        if names[0] == "mpl_toolkits":
            import mpl_toolkits.axes_grid1

            found = mpl_toolkits
        elif names[0] == "matplotlib":
            found = matplotlib
        else:
            raise Refused(root)
        for name in names[1:]:
            found = getattr(found, name)
    else:
        found = results[root]
        if isinstance(found, Exception):
            raise Refused(str(found))
    for kind, key in path:
        if kind == "[":
            found = found[value(key, results, matplotlib)]
            continue
        modules = ("pyplot", "cm", "colors", "patches", "ticker", "lines", "gridspec", "collections")
        makers = {name for names in MAKERS.values() for name in names.split()}
        if key not in PARTS and key not in COLOURS and key not in makers and key not in modules:
            raise Refused(key)
        found = getattr(found, key)
    return found


def value(one: Any, results: list[Any], matplotlib: Any) -> Any:
    """Return an argument in the form that matplotlib receives."""
    if isinstance(one, list):
        return [value(item, results, matplotlib) for item in one]
    if not isinstance(one, dict):
        return one
    if "array" in one:
        import numpy as np

        return np.array(one["array"], dtype=one["dtype"])
    if "tuple" in one:
        return tuple(value(item, results, matplotlib) for item in one["tuple"])
    if "slice" in one:
        return slice(*(value(item, results, matplotlib) for item in one["slice"]))
    if "dict" in one:
        return {value(k, results, matplotlib): value(v, results, matplotlib) for k, v in one["dict"]}
    return follow(one["drawn"], one["path"], results, matplotlib)


def use_style(args: list[Any], plt: Any) -> None:
    names = args[0] if args and isinstance(args[0], list) else args
    if not names or any(name not in STYLES and not str(name).startswith("seaborn-v0_8") for name in names):
        raise Refused("style")
    if any(not str(name).replace("-", "").replace("_", "").isalnum() and "." in str(name) for name in names):
        raise Refused("style")
    plt.style.use(list(names))


def settle(settings: dict[str, Any], matplotlib: Any) -> None:
    """Set the entries of rcParams that concern appearance."""
    for key, one in settings.items():
        plain = isinstance(one, (bool, int, float, str, list, tuple))
        if not (isinstance(key, str) and key.startswith(RC) and key not in RC_REFUSED and plain):
            continue
        matplotlib.rcParams[key] = one


# ---- pictures


def save(
    call: dict[str, Any],
    path: Any,
    kwargs: dict[str, Any],
    results: list[Any],
    pictures: Pictures,
    plt: Any,
    matplotlib: Any,
) -> None:
    figure = plt.gcf() if call["root"] == "matplotlib.pyplot" else follow(call["root"], path, results, matplotlib)
    looks = ("bbox_inches", "dpi", "edgecolor", "facecolor", "orientation", "pad_inches", "transparent")
    pictures.emit(figure, {key: one for key, one in kwargs.items() if key in looks})


def show(pictures: Pictures, plt: Any) -> None:
    """Send the open figures and close them, as plt.show() does when its windows are closed."""
    for number in plt.get_fignums():
        pictures.emit(plt.figure(number), {})
    plt.close("all")


if __name__ == "__main__":
    main()
