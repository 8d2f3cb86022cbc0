"""Charts as SVG text made on the server: no script and no inline style, so that a strict policy lets them through."""
