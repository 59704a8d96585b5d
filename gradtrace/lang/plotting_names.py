"""The names of the plotting modules that a program can import; `figures` implements them."""

from __future__ import annotations

from gradtrace.lang.words import words

PYPLOT = "matplotlib.pyplot"
MODULES = words("""matplotlib matplotlib.animation matplotlib.axes matplotlib.cm matplotlib.collections
    matplotlib.colors matplotlib.dates matplotlib.figure matplotlib.gridspec matplotlib.image matplotlib.lines
    matplotlib.patches matplotlib.pyplot matplotlib.style matplotlib.ticker matplotlib_inline
    matplotlib_inline.backend_inline mpl_toolkits mpl_toolkits.axes_grid1 mpl_toolkits.mplot3d
    mpl_toolkits.mplot3d.art3d mpl_toolkits.mplot3d.axes3d seaborn""")
