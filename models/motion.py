# SPDX-License-Identifier: Apache-2.0
"""Writes motion.xml and motion.bin: a model that finds what moves in any footage. Nothing in it was trained.

A running background lies in the model's states, with the spread that each place is used to. What differs from it by more
than that is foreground; connected foreground gets one box, found by letting each cell take over the extents of its
neighbours. What stands still fades into the background. Needs Python alone; --check compares with the files as they are.
"""

import pathlib

import ir

INPUT_W, INPUT_H = 512, 288
POOL = 4  # Pixels of the input per place of the background.
W, H = INPUT_W // POOL, INPUT_H // POOL
CELLS_W, CELLS_H = W // 2, H // 2  # Where extents spread.

BRIGHTNESS = 0.08  # What a change may be to count as one of the light; of 1.
LEAST = 0.06  # What never counts as foreground.
SPREADS = 2.0  # How many usual deviations do.
STRONGEST = 4.0  # Excess over the threshold is told up to here.
LEARN, LEARN_FOREGROUND = 0.04, 0.01  # Share of a picture that the background takes over.
CUT = 0.5  # Share of the picture in the foreground from which on it is another scene.
LARGEST = 0.3  # A deviation counts up to here for what a place is used to.
STEPS, REACH = 20, 5  # Extents spread by REACH // 2 cells a step.
LEAST_AREA = 5.5  # Places; less is noise.

# As the detector's: tenon and OpenVINO's Model API read it. Boxes are centre and size in pixels of the input.
METADATA = {
    "model_type": "YOLOv8",
    "labels": "moving",
    "mean_values": "0 0 0",
    "scale_values": "255 255 255",
    "reverse_input_channels": "YES",
    "resize_type": "standard",
    "confidence_threshold": "0.4",
    "iou_threshold": "0.5",
}


def foreground(g, image):
    """Compares the picture with the background and learns from it.

    Returns (strength [1,1,H,W]: excess over the threshold, at most STRONGEST; foreground as 0 and 1; whether the scene
    is known, 0 or 1 [1,1,1,1])."""
    picture = g.pool("AvgPool", image, POOL, POOL)
    background, spread = g.state("background", picture.shape), g.state("spread", (1, 1, H, W))
    age = g.state("age", (1, 1, 1, 1))

    difference = g.subtract(picture, background)
    # A cloud, a camera that adapts: all places change alike, by little. Things that move change few places by much.
    light = g.reduce("ReduceMean", g.clamp(difference, -BRIGHTNESS, BRIGHTNESS), [2, 3])
    difference = g.subtract(difference, light)
    size = g.op("Abs", 1, [difference], [(difference.shape, "f32")])[0]
    size = g.reduce("ReduceMax", size, [1])
    threshold = g.add(g.multiply(spread, SPREADS), LEAST)
    strength = g.clamp(g.binary("Divide", size, threshold), 0.0, STRONGEST)
    strength = g.pool("AvgPool", strength, 3)
    is_foreground = g.greater(strength, 1.0)

    share = g.reduce("ReduceMean", g.number(is_foreground), [2, 3])
    is_new = g.op(
        "LogicalOr", 1, [g.greater(share, CUT), g.greater(g.constant(0.5), age)], [((1, 1, 1, 1), "boolean")],
        {"auto_broadcast": "numpy"},
    )[0]  # fmt: skip
    # A mean of all pictures at first, then of the recent ones.
    rate = g.select(is_foreground, LEARN_FOREGROUND, LEARN)
    rate = g.binary("Maximum", rate, g.binary("Divide", g.constant(1.0), g.add(age, 1.0)))
    rate = g.select(is_new, 1.0, rate)
    learned = g.add(g.add(background, light), g.multiply(difference, rate))
    g.assign("background", learned)
    calm = g.select(is_foreground, LEARN_FOREGROUND, LEARN)
    deviation = g.subtract(g.clamp(size, 0.0, LARGEST), spread)
    known = g.number(g.op("LogicalNot", 1, [is_new], [((1, 1, 1, 1), "boolean")])[0])
    g.assign("spread", g.add(spread, g.multiply(g.multiply(deviation, calm), known)))
    g.assign("age", g.select(is_new, 1.0, g.clamp(g.add(age, 1.0), 0.0, 1000.0)))
    return strength, g.number(is_foreground), known


def boxes(g, strength, mask, known):
    """One box for what hangs together, in each of its cells: [1, 5, cells] of centre, size and score.

    Extents are counted so that more is larger, and 0 is nothing: then a maximum over neighbours unites boxes. They are whole
    numbers up to 128, which every floating-point type holds."""
    columns, rows = range(W), range(H)
    features = [
        g.multiply(mask, g.constant([W - x for x in columns], (1, 1, 1, W))),
        g.multiply(mask, g.constant([H - y for y in rows], (1, 1, H, 1))),
        g.multiply(mask, g.constant([x + 1 for x in columns], (1, 1, 1, W))),
        g.multiply(mask, g.constant([y + 1 for y in rows], (1, 1, H, 1))),
        g.multiply(mask, strength),
    ]
    united = g.pool("MaxPool", g.concat(features), 2, 2)
    cells = g.pool("MaxPool", mask, 2, 2)
    for _ in range(STEPS):
        united = g.multiply(g.pool("MaxPool", united, REACH), cells)
    left, top, right, bottom, peak = g.split(united)
    x1, y1 = g.subtract(g.constant(float(W)), left), g.subtract(g.constant(float(H)), top)
    width, height = g.subtract(right, x1), g.subtract(bottom, y1)
    area = g.multiply(g.clamp(width, 0.0, float(W)), g.clamp(height, 0.0, float(H)))
    score = g.multiply(peak, g.number(g.greater(area, LEAST_AREA)))
    score = g.multiply(g.multiply(score, 1 / STRONGEST), known)
    pixels = float(POOL)
    values = [g.multiply(g.add(x1, right), pixels / 2), g.multiply(g.add(y1, bottom), pixels / 2)]
    values += [g.multiply(width, pixels), g.multiply(height, pixels), score]
    shape = (1, 5, CELLS_W * CELLS_H)
    inputs = [g.concat(values), g.constant(shape, kind="i64")]
    return g.op("Reshape", 1, inputs, [(shape, "f32")], {"special_zero": "false"}, "boxes", "output")[0]


def build():
    g = ir.Graph()
    shape = (1, 3, INPUT_H, INPUT_W)
    attributes = {"shape": ",".join(map(str, shape)), "element_type": "f32"}
    image = g.op("Parameter", 1, [], [(shape, "f32")], attributes, "image", "image")[0]
    g.op("Result", 1, [boxes(g, *foreground(g, image))], [], name="output")
    return g.xml("tenon_demo_motion", METADATA), g.weights


if __name__ == "__main__":
    ir.main(build, pathlib.Path(__file__).resolve().parent / "motion.xml", __doc__)
