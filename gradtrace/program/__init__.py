"""Programs: Python itself runs them, with gradtrace's library under the name torch.

    program = parse(text)            the text as a Program: its syntax tree and its inputs
    run(program, inputs) -> Run      variables, result, recorded operator calls and their places

A program is compiled from its syntax tree, which is changed in two small ways (`instrument`): the
value of a top-level expression is kept, and a recorded run notes functions, loops and their passes.
`places` finds the line of an operator call on the stack, `errors` the line of an exception in its
traceback.
"""
