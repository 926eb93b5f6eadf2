"""Every off-policy estimator once more, round by round, in plain Python, from the formulas of the papers."""


def weight(pi, p, change="none", at=None):
    w = pi / p
    if change == "clip":
        return at if w > at else w
    if change == "trim":
        return 0.0 if w > at else w
    if change == "shrink":
        return w * at / (w * w + at)
    return w


def naive(log):
    return sum(y for y, *_ in log) / len(log)


def direct(log):
    return sum(v for *_, v in log) / len(log)


def ips(log, change="none", at=None):
    return sum(weight(pi, p, change, at) * y for y, p, pi, _, _ in log) / len(log)


def snips(log, change="none", at=None):
    above = sum(weight(pi, p, change, at) * y for y, p, pi, _, _ in log)
    below = sum(weight(pi, p, change, at) for _, p, pi, _, _ in log)
    return above / below if below else float("nan")


def dr(log, change="none", at=None):
    return sum(v + weight(pi, p, change, at) * (y - q) for y, p, pi, q, v in log) / len(log)


def sndr(log, change="none", at=None):
    above = sum(weight(pi, p, change, at) * (y - q) for y, p, pi, q, _ in log)
    below = sum(weight(pi, p, change, at) for _, p, pi, _, _ in log)
    return direct(log) + (above / below if below else float("nan"))


def effective_size(log, change="none", at=None):
    weights = [weight(pi, p, change, at) for _, p, pi, _, _ in log]
    return sum(weights) ** 2 / sum(w * w for w in weights)


def chosen(log, clusters, candidates, change):
    """The candidate with the least sum of squared estimated bias and squared standard error."""
    best = None
    for at in candidates:
        terms, bias = [], 0.0
        for y, p, pi, q, v in log:
            terms.append(v + weight(pi, p, change, at) * (y - q))
            bias += (pi / p - weight(pi, p, change, at)) * (y - q)
        mean = sum(terms) / len(terms)
        off = dict.fromkeys(clusters, 0.0)
        for term, cluster in zip(terms, clusters, strict=True):
            off[cluster] += (term - mean) / len(terms)
        squared = sum(o * o for o in off.values()) * len(off) / (len(off) - 1)
        error = (bias / len(log)) ** 2 + squared
        if best is None or error < best[0]:
            best = error, at
    return best[1]
