"""Questions about the sample, in other words than its conversations', for `bench_questions`.

They were written before there was a ranking, by someone who had read the conversations as a user does. A question is
never changed to be found better.
"""

from __future__ import annotations

# What somebody asks, and the beginning of the id of the conversation that answers it.
QUESTIONS: tuple[tuple[str, str], ...] = (
    ("why is the tide lookup slow", "115d7669"),
    ("what made the tides endpoint so sluggish", "115d7669"),
    ("where did we replace the linear scan with bisection", "115d7669"),
    ("how do I get an email warning about flooding at the harbour", "38a09ae6"),
    ("where should the smtp password be kept", "38a09ae6"),
    ("why is the garden page cut off on a small screen", "45569da5"),
    ("which css makes the layout responsive for mobile", "45569da5"),
    ("can I get tide times into my calendar app", "5152790e"),
    ("how do subscribers import an ics feed", "5152790e"),
    ("how much sweetcorn seed should I buy", "edee1216"),
    ("shopping list of vegetables from my notes", "edee1216"),
    ("who worked the reviewer's remarks into the changelog", "f26ccf15"),
    ("creating the PR for the garden planner", "f26ccf15"),
    ("what still has to be done before we ship 1.4", "a4d451ec"),
    ("renaming calendar.ts to something better", "a4d451ec"),
    ("harmonic analysis of sea level in a jupyter notebook", "95f3a1dc"),
    ("least squares fit of M2 and S2 amplitudes", "95f3a1dc"),
    ("what is wrong with writing the cached forecast in place", "ef8b047e"),
    ("could a station name be used for path traversal", "ef8b047e"),
    ("which water level gauge is faulty", "c49c2829"),
    ("when did stenudden begin to drift", "c49c2829"),
    ("drawing the harbours on a coastline as svg", "03ff6f8d"),
    ("moving plants with the pointer instead of the keyboard", "4a0c3cbc"),
    ("why does the logger write nothing after twelve at night", "35af25f5"),
    ("exiftool script for naming pictures", "deb79c24"),
    ("viewing iphone HEIC images in the editor", "deb79c24"),
    ("last frost in spring depending on the zone", "adc98db5"),
    ("wrong length of the lunar month", "8c579df2"),
    ("nearest station to my position first", "e8adee46"),
    ("how do sun and moon cause large and small tidal ranges", "ab07df5e"),
)
