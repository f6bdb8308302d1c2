"""A bench's plot: lines over the size, with gnuplot where it is installed."""

import shutil
import subprocess


def draw(path, lines, xlabel, ylabel):
    """Draw LINES, a dict title -> list of (MiB, seconds), to the PNG file PATH."""
    if not shutil.which("gnuplot"):
        print("bench: no plot, gnuplot is not installed")
        return
    curves = ", ".join(f"'-' using 1:2 with linespoints title '{title}'" for title in lines)
    data = "".join("".join(f"{mib / 1024} {seconds}\n" for mib, seconds in line) + "e\n" for line in lines.values())
    script = (
        f"set terminal pngcairo size 900,600\nset output '{path}'\nset xlabel '{xlabel}'\n"
        f"set ylabel '{ylabel}'\nset logscale y\nset key outside\nplot {curves}\n{data}"
    )
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
