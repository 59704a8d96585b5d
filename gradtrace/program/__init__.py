"""Programs: Python itself runs them, with gradtrace's library under the name torch.

    program = parse(text)            the text as a Program: its syntax tree and its inputs
    run(program, inputs) -> Run      variables, result, recorded operator calls and their places

An expression (`grammar` says what one may contain) is evaluated in the process itself, by `expression`.
"""
