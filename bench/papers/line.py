"""A straight line through points."""

from statistics import correlation, linear_regression


def fit(points):
    """Return (slope, intercept, R²) of the line through POINTS, pairs (x, y), by least squares."""
    xs, ys = zip(*points, strict=True)
    slope, intercept = linear_regression(xs, ys)
    return slope, intercept, correlation(xs, ys) ** 2
