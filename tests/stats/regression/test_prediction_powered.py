import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.regression.prediction_powered import estimate
from tests.examples import examples

TRUTH = 3.0
COLUMNS = ("estimate", "ci_low", "ci_high", "standard_error")


@st.composite
def studies(draw, max_size=30):
    n = draw(st.integers(1, max_size))
    n_generators, n_clusters = draw(st.integers(1, 3)), draw(st.integers(1, 8))
    rating = st.one_of(st.just(np.nan), st.integers(1, 5).map(float))
    y = np.array(draw(st.lists(rating, min_size=n, max_size=n)))
    f = np.array(draw(st.lists(st.integers(0, 10).map(lambda v: v / 2), min_size=n, max_size=n)))
    generator = np.array(draw(st.lists(st.integers(0, n_generators - 1), min_size=n, max_size=n)))
    cluster = np.array(draw(st.lists(st.integers(0, n_clusters - 1), min_size=n, max_size=n)))
    return y, f, generator, n_generators, cluster, n_clusters


def naive_influences(y, f, cluster, n_clusters):
    """Influences of clusters on the rated mean and on the correction, cluster by cluster."""
    rated = ~np.isnan(y)
    of_y, of_f = np.zeros(n_clusters), np.zeros(n_clusters)
    for u in range(n_clusters):
        here, both = cluster == u, (cluster == u) & rated
        of_y[u] = (y[both] - y[rated].mean()).sum() / rated.sum()
        of_f[u] = (f[here] - f.mean()).sum() / len(f) - (f[both] - f[rated].mean()).sum() / rated.sum()
    return of_y, of_f


def naive_weight(of_y, of_f):
    return np.linalg.lstsq(-of_f[:, None], of_y)[0][0]


@given(studies())
@settings(max_examples=examples(300))
def test_equals_the_naive_path(study):
    y, f, generator, n_generators, cluster, n_clusters = study
    found = estimate(*study)
    of_y, of_f = np.zeros((2, n_generators, n_clusters))
    tuned = []
    for k in range(n_generators):
        here = generator == k
        rated = ~np.isnan(y[here])
        labelled = len(set(cluster[here][rated]))
        assert (found.n_units[k], found.n_labelled[k]) == (here.sum(), rated.sum())
        assert found.n_labelled_clusters[k] == labelled
        if rated.any():
            of_y[k], of_f[k] = naive_influences(y[here], f[here], cluster[here], n_clusters)
        if labelled > 2 and not rated.all() and (np.abs(of_f[k]) > 1e-10).sum() > 1:
            tuned.append(k)
    for k in range(n_generators):
        here = generator == k
        yk, fk = y[here], f[here]
        rated = ~np.isnan(yk)
        if not rated.any():
            assert np.isnan([getattr(found, c)[k] for c in (*COLUMNS, "classical_estimate")]).all()
            continue
        weight, at = 0.0, np.zeros(n_clusters)
        if k in tuned:
            weight = naive_weight(of_y[tuned].ravel(), of_f[tuned].ravel())
            others = [np.arange(n_clusters) != u for u in range(n_clusters)]
            at = [naive_weight(of_y[tuned][:, o].ravel(), of_f[tuned][:, o].ravel()) for o in others]
        expected = yk[rated].mean() + weight * (fk.mean() - fk[rated].mean())
        np.testing.assert_allclose(
            [found.lambda_[k], found.estimate[k]], [weight, expected], rtol=1e-9, atol=1e-9
        )
        labelled = found.n_labelled_clusters[k]
        if labelled < 2:
            assert np.isnan([found.standard_error[k], found.ci_low[k]]).all()
            continue
        error = np.sqrt(labelled / (labelled - 1) * ((of_y[k] + at * of_f[k]) ** 2).sum())
        assert found.standard_error[k] == pytest.approx(error, rel=1e-9, abs=1e-9)
        half = error * scipy.stats.t.ppf(0.975, labelled - 1 if labelled >= 6 else np.nan)
        np.testing.assert_allclose(
            [found.ci_low[k], found.ci_high[k]], [expected - half, expected + half], rtol=1e-9, atol=1e-8
        )


def test_units_in_clusters_of_their_own_make_the_textbook_interval():
    rng = np.random.default_rng(0)
    y, zeros = rng.normal(size=40), np.zeros(40, dtype=int)
    found = estimate(y, rng.normal(size=40), zeros, 1, np.arange(40), 40, confidence=0.9)
    expected = scipy.stats.ttest_1samp(y, 0).confidence_interval(0.9)
    assert (found.ci_low[0], found.ci_high[0]) == pytest.approx(tuple(expected))
    assert found.classical_standard_error[0] == pytest.approx(scipy.stats.sem(y))


def test_every_unit_rated_leaves_the_ratings_alone():
    rng = np.random.default_rng(1)
    y, f = rng.normal(size=(2, 90))
    generator, cluster = np.arange(90) % 3, np.arange(90) // 6
    found = estimate(y, f, generator, 3, cluster, 15)
    np.testing.assert_allclose(found.estimate, [y[generator == k].mean() for k in range(3)], rtol=1e-12)
    np.testing.assert_allclose(found.standard_error, found.classical_standard_error, rtol=1e-12)
    assert found.lambda_.tolist() == [0.0] * 3


def test_a_constant_judge_leaves_the_ratings_alone():
    y = np.where(np.arange(60) % 2, np.nan, np.random.default_rng(1).normal(size=60))
    found = estimate(y, np.full(60, 1 / 3), np.zeros(60, dtype=int), 1, np.arange(60) // 4, 15)
    assert found.lambda_[0] == 0
    assert found.estimate[0] == pytest.approx(np.nanmean(y))


def simulated(*, judge, seed, n_users=60, n_labelled=24, repetitions=2000, slope=1.0, offset=0.0):
    """Repetitions as generators: users with effects and 1 to 5 units; 24 of them rate the first two each.

    ``judge`` is the correlation of scores and ratings, between users as within.
    """
    rng = np.random.default_rng(seed)

    def halves(*shape):
        values, noise = rng.normal(size=(2, *shape))
        return values, judge * values + np.sqrt(1 - judge**2) * noise

    (user, judged_user), (unit, judged_unit) = (halves(repetitions, n_users, k) for k in (1, 5))
    y = TRUTH + user + unit
    f = offset + slope * (judged_user + judged_unit)
    generator, cluster, place = np.indices(y.shape)
    y[(cluster >= n_labelled) | (place >= 2)] = np.nan
    there = place < rng.integers(1, 6, (repetitions, n_users, 1))
    return y[there], f[there], generator[there], repetitions, cluster[there], n_users


def coverage(result):
    return np.mean((result.ci_low <= TRUTH) & (result.ci_high >= TRUTH))


def width_ratio(result):
    """Mean width of the intervals over that of the intervals from ratings alone."""
    t = scipy.stats.t.ppf(0.975, result.n_labelled_clusters - 1)
    return (result.ci_high - result.ci_low).mean() / (2 * t * result.classical_standard_error).mean()


@pytest.mark.parametrize(
    ("judge", "n_users", "narrowest", "widest"),
    [
        (0.9, 24, 0.9, 1.03),  # no users but those who rate: little to gain
        (0.0, 24, 0.95, 1.03),
        (0.9, 60, 0.6, 0.8),
        (0.5, 60, 0.85, 0.97),
        (0.0, 60, 0.95, 1.03),
        (0.9, 300, 0.4, 0.6),
        (0.0, 300, 0.95, 1.03),
    ],
)
def test_simulated_intervals_cover(judge, n_users, narrowest, widest):
    found = estimate(*simulated(judge=judge, seed=7, n_users=n_users))
    errors = found.estimate - TRUTH
    assert abs(errors.mean()) < 3 * scipy.stats.sem(errors)
    assert 0.93 < coverage(found) < 0.97
    assert narrowest < width_ratio(found) < widest
    assert found.standard_error.mean() == pytest.approx(errors.std(), rel=0.07)


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 2.0), (0.01, -50.0), (-3.0, 0.5)])
def test_the_scale_of_the_judge_changes_nothing(slope, offset):
    straight = estimate(*simulated(judge=0.7, seed=9, repetitions=200))
    biased = estimate(*simulated(judge=0.7, seed=9, repetitions=200, slope=slope, offset=offset))
    for column in COLUMNS:
        np.testing.assert_allclose(getattr(biased, column), getattr(straight, column), rtol=1e-9)
    np.testing.assert_allclose(biased.lambda_ * slope, straight.lambda_, rtol=1e-6)


def test_one_lambda_for_all_generators_covers_and_is_narrower_than_the_ratings_alone():
    """12 of 39 users rate 9 generators; repetitions one by one, as their lambda is their own."""
    rng = np.random.default_rng(0)
    user, generator = np.divmod(np.arange(39 * 9 * 4) // 4, 9)
    truth, judge, hits, widths = np.linspace(2, 4, 9), 0.5, [], []
    for _ in range(400):
        signal, noise = rng.normal(size=(2, user.size))
        y = truth[generator] + 0.4 * rng.normal(size=39)[user] + signal
        f = judge * signal + np.sqrt(1 - judge**2) * noise
        found = estimate(np.where(user < 12, y, np.nan), f, generator, 9, user, 39)
        hits.append((found.ci_low <= truth) & (truth <= found.ci_high))
        widths.append(np.median(found.standard_error / found.classical_standard_error))
    assert 0.93 <= np.mean(hits) <= 0.97
    assert np.mean(widths) < 0.98


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_plain_ppi_is_the_scores_and_the_mean_error(weight):
    rng = np.random.default_rng(4)
    f = rng.normal(3, 1, 400)
    y = np.where(np.arange(400) < 100, f + rng.normal(0.5, 0.5, 400), np.nan)
    found = estimate(y, f, np.zeros(400, int), 1, np.arange(400), 400, weight=weight)
    rated = ~np.isnan(y)
    assert found.estimate[0] == pytest.approx(y[rated].mean() + weight * (f.mean() - f[rated].mean()))
    assert found.lambda_[0] == weight
    # Angelopoulos et al. 2023: variance of the errors over n, and of the scores over N, which overlap here.
    own = np.where(rated, (np.nan_to_num(y) - weight * f) / 100, 0.0) + weight * f / 400
    middle = np.where(rated, (y[rated] - weight * f[rated]).mean() / 100, 0.0) + weight * f.mean() / 400
    expected = np.sqrt(np.square(own - middle).sum() * 100 / 99)
    assert found.standard_error[0] == pytest.approx(expected)
