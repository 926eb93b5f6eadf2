"""Make the bundled sample: a simulated study of film recommendations. No person rated anything in it.

Run ``python data/make_sample.py [FOLDER]``; the same bytes come out each time, on every platform.

The model. For user *u*, film *i*, generator *g* and aspect *a* the user's opinion is::

    opinion = 3.1 + leniency[u] + quality[g, a] + appeal[i] + wording[i, g] + taste[u, g]
              + 0.5 * (film is of u's favourite genre, accuracy and satisfaction only) + noise

with independent normal terms of standard deviation 0.50 (leniency), 0.20 (appeal), 0.40 (wording),
0.45 (taste) and 0.70 (noise); ``quality`` is the table `QUALITY` plus a fixed offset an aspect. The rating is
the opinion rounded to a whole number from 1 to 5. One in a hundred of the users' ratings of persuasiveness
and transparency is missing: asked, and not answered.

Two annotators read the same texts but know nothing of the user: for them there is no leniency, taste or
favourite genre, only their own bias, ``0.9 * (quality + wording)`` and noise of 0.75.

Half of the users write and read English, half Chinese. A user's own explanation, the reference, speaks of the
film's story and genre; so do the better generators, which is why reference-based scores agree a little with
the ratings. Films, directors and numbers are invented.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from metaeval.data.units import summary
from metaeval.kinds.explanations.data.loading import from_frames, save

SEED = 20240917
USERS = 22
FILMS_A_USER = 4

ASPECTS = {
    "persuasiveness": "This explanation is convincing to me",
    "transparency": "Based on this explanation, I understand why this film is recommended",
    "accuracy": "This explanation is consistent with my interests",
    "satisfaction": "I am satisfied with this explanation",
}
_OFFSET = {"persuasiveness": -0.1, "transparency": 0.3, "accuracy": -0.1, "satisfaction": 0.0}
QUALITY = {"popular": -0.5, "similar": -0.2, "item": 0.0, "maker": -0.3, "review": 0.4, "story": 0.6}
"""Which texts users like, on the scale of the ratings."""


class Film(NamedTuple):
    """An invented film; a pair is English and Chinese."""

    title: tuple[str, str]
    genre: str
    maker: tuple[str, str]
    story: tuple[str, str]
    """Completes "a film about …"."""
    praise: tuple[str, str]


GENRES = {"drama": "剧情", "comedy": "喜剧", "thriller": "悬疑", "sci-fi": "科幻"}
FILMS = (
    Film(
        ("The Salt Ledger", "盐账本"),
        "drama",
        ("Ines Corvell", "柯文"),
        ("two sisters who keep a salt farm", "守着盐田的两姐妹"),
        ("quiet, and the ending stays with you", "安静克制，结尾让人久久难忘"),
    ),
    Film(
        ("Lantern Tax", "灯笼税"),
        "comedy",
        ("Bo Wenlock", "温洛"),
        ("a village that hides its lanterns", "把灯笼藏起来的村子"),
        ("every joke lands without being cruel", "每个笑点都好笑又不刻薄"),
    ),
    Film(
        ("Nine Locked Floors", "九层锁"),
        "thriller",
        ("Mara Oduya", "欧杜雅"),
        ("a lift operator who knows a secret", "知道秘密的电梯员"),
        ("tense from the first minute on", "从第一分钟起就扣人心弦"),
    ),
    Film(
        ("Orbit of Small Things", "微物轨道"),
        "sci-fi",
        ("Teo Halvard", "哈瓦德"),
        ("a gardener on a space station", "空间站上的园丁"),
        ("a warm idea, beautifully filmed", "想法温暖，画面很美"),
    ),
    Film(
        ("My Uncle the Fog", "雾叔叔"),
        "comedy",
        ("Pia Strand", "斯特兰"),
        ("a weatherman who is always wrong", "总是报错天气的人"),
        ("silly in the best way", "傻得可爱"),
    ),
    Film(
        ("The Cartographer's Debt", "制图师的债"),
        "thriller",
        ("Ines Corvell", "柯文"),
        ("a false map and a missing boat", "一张假地图和一条失踪的船"),
        ("clever, and it plays fair", "构思巧妙，线索公平"),
    ),
    Film(
        ("Paper Harbour", "纸港"),
        "drama",
        ("Lio Tanberg", "谭伯格"),
        ("a father who writes to the sea", "给大海写信的父亲"),
        ("moving without a false note", "真挚动人，毫不做作"),
    ),
    Film(
        ("Tomorrow Rents a Room", "明天租房"),
        "sci-fi",
        ("Mara Oduya", "欧杜雅"),
        ("a landlady and her guest from the future", "房东和来自未来的房客"),
        ("funny, then suddenly deep", "先是好笑，然后忽然深刻"),
    ),
    Film(
        ("Seven Cups Cold", "七杯凉茶"),
        "thriller",
        ("Bo Wenlock", "温洛"),
        ("a tea house where someone lies", "有人说谎的茶馆"),
        ("you will not guess it", "你绝对猜不到真相"),
    ),
    Film(
        ("The Loud Orchard", "喧闹果园"),
        "comedy",
        ("Lio Tanberg", "谭伯格"),
        ("a choir that rehearses among bees", "在蜂群里排练的合唱团"),
        ("pure joy for an evening", "一整晚的快乐"),
    ),
    Film(
        ("Winter Has a Key", "冬天的钥匙"),
        "drama",
        ("Pia Strand", "斯特兰"),
        ("an old locksmith and his pupil", "老锁匠和他的徒弟"),
        ("the two actors are wonderful", "两位演员非常出色"),
    ),
    Film(
        ("Signal from Pell", "佩尔信号"),
        "sci-fi",
        ("Teo Halvard", "哈瓦德"),
        ("a radio that answers too early", "回答得太早的电台"),
        ("one great idea, thought through", "一个好点子，想得很透"),
    ),
)

_TEMPLATES = {
    "popular": (
        "Seen by {seen} people; among the top {top}% this month.",
        "已有{seen}人看过，本月热度前{top}%。",
    ),
    "similar": (
        "{share}% of people with tastes like yours enjoyed it.",
        "和你口味相似的人中，{share}%都喜欢。",
    ),
    "item": ("People who liked {other} like it too.", "喜欢《{other}》的人也喜欢。"),
    "maker": ("Directed by {maker}.", "导演是{maker}。"),
    "review": ("A viewer writes: {praise}; about {story}.", "观众说：{praise}，讲{story}。"),
    "story": ("A {genre} about {story}, the kind you like.", "讲{story}的{genre}片，正是你喜欢的类型。"),
}
_OWN_WORDS = (
    ("I like {genre}, and {story} sounds good to me.", "我喜欢{genre}片，讲{story}，听起来不错。"),
    ("A film about {story}: that makes me curious.", "讲{story}的片子，让我很好奇。"),
    ("I watch every {genre} by {maker}.", "{maker}导演的{genre}片我都看。"),
    ("They say it is {praise}.", "听说{praise}。"),
)


class Simulation:
    """All random draws of the study, in one order from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 a simulation; its stream is the same in every version

    def normal(self, deviation: float) -> float:
        """Draw from a normal distribution, near enough: twelve uniform draws, the same on every platform."""
        return deviation * (math.fsum(self._random.random() for _ in range(12)) - 6.0)

    def below(self, end: int) -> int:
        """Draw a whole number from 0 to ``end - 1``."""
        return int(self._random.random() * end)

    def happens(self, probability: float) -> bool:
        """Return True with a probability."""
        return self._random.random() < probability

    def some(self, amount: int, end: int) -> list[int]:
        """Draw ``amount`` different whole numbers below ``end``, in rising order."""
        order = sorted(range(end), key=[self._random.random() for _ in range(end)].__getitem__)
        return sorted(order[:amount])


def rating(opinion: float) -> float:
    """Round an opinion to the scale."""
    return float(min(5, max(1, math.floor(opinion + 0.5))))


def text(template: tuple[str, str], language: int, film: Film, **numbers: object) -> str:
    """Fill a template in English (0) or Chinese (1)."""
    genre = (film.genre, GENRES[film.genre])
    return template[language].format(
        genre=genre[language],
        maker=film.maker[language],
        story=film.story[language],
        praise=film.praise[language],
        **numbers,
    )


def simulate() -> dict[str, pd.DataFrame]:
    """Return the tables of the study."""
    draw = Simulation(SEED)
    appeal = [draw.normal(0.20) for _ in FILMS]
    wording = {(i, g): draw.normal(0.40) for i in range(len(FILMS)) for g in QUALITY}
    bias = {"1": 0.2, "2": -0.1}
    users: list[dict[str, object]] = []
    explanations: list[dict[str, object]] = []
    ratings: list[dict[str, object]] = []
    for u in range(USERS):
        user_id, language = f"u{u + 1:02}", u % 2
        favourite = list(GENRES)[draw.below(len(GENRES))]
        users.append(
            {
                "user_id": user_id,
                "language": ("en", "zh")[language],
                "age": ("18-25", "26-35", "36-50", "over 50")[draw.below(4)],
                "films_a_month": ("1-2", "3-5", "6-10")[draw.below(3)],
                "favourite_genre": favourite,
            }
        )
        leniency = draw.normal(0.50)
        taste = {g: draw.normal(0.45) for g in QUALITY}
        for i in draw.some(FILMS_A_USER, len(FILMS)):
            film = FILMS[i]
            other = FILMS[(i + 1 + draw.below(len(FILMS) - 1)) % len(FILMS)]
            numbers = {
                "seen": 1000 + draw.below(90000),
                "top": 1 + draw.below(20),
                "share": 60 + draw.below(38),
                "other": other.title[language],
            }
            reference = text(_OWN_WORDS[draw.below(len(_OWN_WORDS))], language, film)
            for g, quality in QUALITY.items():
                keys = {"user_id": user_id, "item_id": f"f{i + 1:02}", "generator": g}
                explanations.append(
                    {
                        **keys,
                        "explanation": text(_TEMPLATES[g], language, film, **numbers),
                        "item_title": film.title[language],
                        "reference": reference,
                    }
                )
                for aspect in ASPECTS:
                    shown = quality + _OFFSET[aspect] + wording[i, g]
                    match = 0.5 * (film.genre == favourite and aspect in {"accuracy", "satisfaction"})
                    opinion = 3.1 + leniency + shown + appeal[i] + taste[g] + match + draw.normal(0.70)
                    silent = draw.happens(0.01) and aspect in {"persuasiveness", "transparency"}
                    given = {"user": math.nan if silent else rating(opinion)}
                    given |= {r: rating(3.1 + b + 0.9 * shown + draw.normal(0.75)) for r, b in bias.items()}
                    ratings += [{**keys, "rater": r, "aspect": aspect, "rating": v} for r, v in given.items()]
    tables = {"explanations": explanations, "ratings": ratings, "users": users}
    return {name: pd.DataFrame(rows) for name, rows in tables.items()}


def main(folder: Path) -> None:
    """Write the sample to ``folder``."""
    tables = simulate()
    data = from_frames(
        tables["explanations"],
        tables["ratings"],
        users=tables["users"],
        aspects=ASPECTS,
        scale=(1, 5),
        name="sample",
        licence="Apache-2.0",
        source="simulated by data/make_sample.py",
        language="en, zh",
        simulated=True,
    )
    save(data, folder, "csv", force=True)
    print(summary(data))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "sample")
