# SPDX-License-Identifier: Apache-2.0
"""Procedural scenes of moving shapes over moving, textured, noisy backgrounds, with exact ground truth.

A scene is a function of its seed and of time. It lives in a world of 1280x720 units and is rendered through a view
(origin, scale, size), so that the same scene gives full video frames for the clip and small crops for training.
"""

from dataclasses import dataclass, field

import numpy as np

LABELS = ("circle", "square", "triangle", "star")
WORLD_W, WORLD_H = 1280, 720

# Who may use which seeds. A picture of the clip must never have been trained on.
TRAIN_SEEDS = range(1_000_000, 9_000_000)
VALIDATION_SEEDS = range(10_000_000, 10_100_000)
CLIP_SEEDS = range(20_000_000, 20_100_000)


def _disjoint(a: range, b: range) -> bool:
    return a.stop <= b.start or b.stop <= a.start


assert _disjoint(TRAIN_SEEDS, VALIDATION_SEEDS)
assert _disjoint(TRAIN_SEEDS, CLIP_SEEDS)
assert _disjoint(VALIDATION_SEEDS, CLIP_SEEDS)


@dataclass(frozen=True)
class View:
    """A window onto the world: pixel (i, j) shows world point x0 + (i + 0.5) / scale, y0 + (j + 0.5) / scale."""

    x0: float = 0.0
    y0: float = 0.0
    scale: float = 1.0
    width: int = WORLD_W
    height: int = WORLD_H

    def xs(self):
        return (self.x0 + (np.arange(self.width, dtype=np.float32) + 0.5) / self.scale).astype(np.float32)

    def ys(self):
        return (self.y0 + (np.arange(self.height, dtype=np.float32) + 0.5) / self.scale).astype(np.float32)


@dataclass
class Truth:
    """One visible object: box is x1, y1, x2, y2 in world units; visible is the fraction of its area that shows; thing is its
    number in the scene."""

    label: int
    box: tuple
    visible: float
    thing: int


@dataclass
class Thing:
    """An object's fixed properties; where it is at a time follows from them."""

    label: int
    radius: float
    aspect: float
    start: tuple
    velocity: tuple
    angle: float
    spin: float
    pulse: float
    colours: tuple
    texture: tuple
    outline: float
    outline_colour: np.ndarray
    opacity_edge: float
    grid: np.ndarray = field(repr=False, default=None)

    def radius_at(self, t):
        return self.radius * (1.0 + self.pulse * np.sin(1.7 * t + self.angle))

    def position_at(self, t):
        # The path may carry the object a little over the picture's edge: cut-off objects belong to the task.
        reach = 0.5 * self.radius
        x = _bounce(self.start[0] + self.velocity[0] * t, reach, WORLD_W - reach)
        y = _bounce(self.start[1] + self.velocity[1] * t, reach, WORLD_H - reach)
        return x, y


def _bounce(value, low, high):
    span = high - low
    phase = (value - low) % (2 * span)
    return low + (phase if phase <= span else 2 * span - phase)


# ---------------------------------------------------------------------------------------------------------- shapes

_STAR_INNER = 0.45


def _polygon(label):
    """Vertices of the shape in its own frame (circumradius about 1); None for the circle."""
    if label == 1:
        return np.array([(-0.84, -0.84), (0.84, -0.84), (0.84, 0.84), (-0.84, 0.84)], np.float32)
    if label == 2:
        a = np.deg2rad([90, 210, 330])
        return np.stack([np.cos(a), np.sin(a)], 1).astype(np.float32)
    if label == 3:
        a = np.arange(10) * np.pi / 5
        r = np.where(np.arange(10) % 2 == 0, 1.0, _STAR_INNER)
        return np.stack([r * np.cos(a), r * np.sin(a)], 1).astype(np.float32)
    return None


def _contour(label):
    points = _polygon(label)
    if points is None:
        a = np.linspace(0, 2 * np.pi, 128, endpoint=False)
        points = np.stack([np.cos(a), np.sin(a)], 1)
    return points


def _distance(label, u, v):
    """Signed distance (negative inside), good near the edge, in units of the radius."""
    if label == 0:
        return np.sqrt(u * u + v * v) - 1.0
    if label == 1:
        return np.maximum(np.abs(u), np.abs(v)) - 0.84
    if label == 2:
        c, s = np.float32(np.cos(np.pi / 6)), np.float32(0.5)
        return np.maximum(np.maximum(c * u + s * v, s * v - c * u), -v) - 0.5
    # Star: fold the plane onto one half-spike, whose edge is the line from the tip (1, 0) to the inner corner.
    step = 2 * np.pi / 5
    a = np.arctan2(v, u)
    a = np.abs(a - step * np.round(a / step))
    r = np.sqrt(u * u + v * v)
    inner = np.array([np.cos(step / 2), np.sin(step / 2)]) * _STAR_INNER
    normal = np.array([inner[1], 1.0 - inner[0]])
    normal /= np.hypot(*normal)
    return ((r * np.cos(a) - 1.0) * normal[0] + r * np.sin(a) * normal[1]).astype(np.float32)


def _mix_weight(kind, u, v, frequency, phase, grid):
    """How much of the second colour shows at (u, v)."""
    if kind == "stripes":
        return 0.5 + 0.5 * np.clip(3 * np.sin(frequency * u + phase), -1, 1)
    if kind == "checker":
        return 0.5 + 0.5 * np.sign(np.sin(frequency * u + phase) * np.sin(frequency * v))
    if kind == "gradient":
        return np.clip(0.5 + 0.5 * u, 0, 1)
    if kind == "radial":
        return np.clip(u * u + v * v, 0, 1)
    if kind == "noise":
        n = grid.shape[0]
        i = np.clip(((u + 1.5) / 3 * n), 0, n - 1).astype(np.int32)
        j = np.clip(((v + 1.5) / 3 * n), 0, n - 1).astype(np.int32)
        return grid[j, i]
    return np.zeros_like(u)


# ------------------------------------------------------------------------------------------------------ background


class Background:
    """A sum of separable layers, so that a frame costs a few matrix products."""

    def __init__(self, rng):
        self.saturation = rng.uniform(0.1, 1.0)
        self.base = self._muted(rng.uniform(30, 220, 3))
        self.pan = rng.uniform(-60, 60, 2)
        self.zoom = rng.uniform(-0.25, 0.25), rng.uniform(0.2, 0.8)
        self.gradient = self._muted(rng.normal(0, 40, (2, 3)))
        self.octaves = [self._octave(rng) for _ in range(rng.integers(1, 4))]
        self.stripes = [self._stripe(rng) for _ in range(rng.integers(0, 3))]
        self.blobs = self._blobs(rng, int(rng.integers(0, 12)))
        self.checker = (rng.uniform(0.01, 0.12), self._muted(rng.normal(0, 18, 3))) if rng.random() < 0.2 else None

    def _muted(self, colour):
        """Most real pictures are greyer than random colours."""
        grey = colour.mean(-1, keepdims=True)
        return (grey + self.saturation * (colour - grey)).astype(np.float32)

    def _octave(self, rng):
        cell = np.exp(rng.uniform(np.log(3), np.log(320)))
        amplitude = rng.uniform(6, 45) * (1.0 if cell > 12 else 0.6)
        tint = rng.uniform(0.4, 1.0, 3) * np.sign(rng.uniform(-0.4, 1, 3))
        grid = rng.uniform(-1, 1, (64, 64)).astype(np.float32)
        return cell, grid, self._muted(amplitude * tint)

    def _stripe(self, rng):
        angle, period = rng.uniform(0, np.pi), np.exp(rng.uniform(np.log(14), np.log(400)))
        return angle, 2 * np.pi / period, rng.uniform(0, 6.28), rng.uniform(0.5, 4), self._muted(rng.normal(0, 25, 3))

    def _blobs(self, rng, n):
        where = rng.uniform((-100, -100), (WORLD_W + 100, WORLD_H + 100), (n, 2))
        size = np.exp(rng.uniform(np.log(25), np.log(260), (n, 2)))
        return where, size, self._muted(rng.normal(0, 55, (n, 3))), rng.uniform(-40, 40, (n, 2))

    def render(self, xs, ys, t):
        zoom = 1.0 + self.zoom[0] * np.sin(self.zoom[1] * t)
        x = ((xs - WORLD_W / 2) * zoom + WORLD_W / 2 + self.pan[0] * t).astype(np.float32)
        y = ((ys - WORLD_H / 2) * zoom + WORLD_H / 2 + self.pan[1] * t).astype(np.float32)
        row = self.base + np.outer(xs / WORLD_W - 0.5, self.gradient[0])
        column = np.outer(ys / WORLD_H - 0.5, self.gradient[1])
        picture = np.empty((len(ys), len(xs), 3), np.float32)
        np.add(row[None].astype(np.float32), column[:, None].astype(np.float32), out=picture)
        for weights, colour in self._layers(x, y, t):
            for c in range(3):
                picture[..., c] += weights * np.float32(colour[c])
        self._add_blobs(picture, x, y, t)
        return picture

    def _layers(self, x, y, t):
        for cell, grid, colour in self.octaves:
            yield _value_noise(grid, x / cell, y / cell), colour
        for angle, frequency, phase, hard, colour in self.stripes:
            a = x * (np.cos(angle) * frequency) + phase + t
            b = y * (np.sin(angle) * frequency)
            # sin(a + b), split so that the trigonometry is done per row and per column only.
            wave = np.outer(np.sin(b), np.cos(a)) + np.outer(np.cos(b), np.sin(a))
            yield np.clip(wave.astype(np.float32) * hard, -1, 1), colour
        if self.checker is not None:
            frequency, colour = self.checker
            yield np.outer(np.sign(np.sin(y * frequency)), np.sign(np.sin(x * frequency))).astype(np.float32), colour

    def _add_blobs(self, picture, x, y, t):
        where, size, colour, drift = self.blobs
        if not len(where):
            return
        centre = where + drift * t
        gx = np.exp(-(((x[None] - centre[:, :1]) / size[:, :1]) ** 2)).astype(np.float32)
        gy = np.exp(-(((y[None] - centre[:, 1:]) / size[:, 1:]) ** 2)).astype(np.float32)
        for c in range(3):
            picture[..., c] += (gy * colour[:, c : c + 1]).T @ gx


def _value_noise(grid, x, y):
    n = grid.shape[0]
    xi, yi = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    fx, fy = x - xi, y - yi
    fx, fy = (fx * fx * (3 - 2 * fx)).astype(np.float32), (fy * fy * (3 - 2 * fy)).astype(np.float32)
    rows = grid[yi % n] * (1 - fy)[:, None] + grid[(yi + 1) % n] * fy[:, None]
    # The columns as a sparse product: at most two grid columns meet in a pixel.
    return rows[:, xi % n] * (1 - fx) + rows[:, (xi + 1) % n] * fx


# ----------------------------------------------------------------------------------------------------------- scene


class Scene:
    """A background, things moving over it, and bars passing in front; everything follows from the seed."""

    def __init__(self, seed, things=(3, 9), sizes=(24.0, 220.0), noise=(0.5, 5.0)):
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.background = Background(rng)
        self.things = [self._thing(rng, sizes) for _ in range(rng.integers(things[0], things[1] + 1))]
        self.things.sort(key=lambda thing: thing.radius, reverse=True)  # small ones in front, or they never show
        self.bars = [self._bar(rng) for _ in range(rng.choice(3, p=(0.55, 0.3, 0.15)))]
        self.flicker = rng.uniform(0, 0.22), rng.uniform(0.5, 3.0), rng.uniform(-0.12, 0.12)
        self.noise = rng.uniform(*noise)

    def _thing(self, rng, sizes):
        label = int(rng.integers(len(LABELS)))
        size = np.exp(rng.uniform(np.log(sizes[0]), np.log(sizes[1])))
        first = self._contrasting_colour(rng)
        second = np.clip(first + rng.normal(0, 45, 3), 0, 255)
        kind = str(rng.choice(["plain", "stripes", "checker", "gradient", "radial", "noise"]))
        return Thing(
            label=label,
            radius=size / 2,
            aspect=rng.uniform(0.82, 1.0),
            start=(rng.uniform(0, WORLD_W), rng.uniform(0, WORLD_H)),
            velocity=tuple(rng.normal(0, 110, 2)),
            angle=rng.uniform(0, 2 * np.pi),
            spin=rng.normal(0, 0.7),
            pulse=rng.uniform(0, 0.12),
            colours=(first.astype(np.float32), second.astype(np.float32)),
            texture=(kind, rng.uniform(3, 14), rng.uniform(0, 6.28)),
            outline=rng.uniform(0.04, 0.14) if rng.random() < 0.4 else 0.0,
            outline_colour=rng.uniform(0, 255, 3).astype(np.float32),
            opacity_edge=rng.uniform(1.2, 3.0),
            grid=rng.random((12, 12)).astype(np.float32),
        )

    def _contrasting_colour(self, rng):
        for _ in range(20):
            colour = rng.uniform(0, 255, 3)
            if np.abs(colour - self.background.base).sum() > 150:
                break
        return colour

    @staticmethod
    def _bar(rng):
        """A bar from edge to edge of the picture: occludes, and is no object itself."""
        return {
            "vertical": bool(rng.random() < 0.5),
            "slope": rng.normal(0, 0.2),
            "offset": rng.uniform(0.1, 0.9),
            "speed": rng.normal(0, 50),
            "width": rng.uniform(10, 70),
            "colour": rng.uniform(0, 255, 3).astype(np.float32),
        }

    def render(self, t, view=View()):
        """Returns the picture [height, width, 3], floats 0..255 without sensor noise, and a list of Truth."""
        xs, ys = view.xs(), view.ys()
        picture = self.background.render(xs, ys, t)
        drawn = [d for d in (self._draw(thing, t, view, picture) for thing in self.things) if d is not None]
        covered = self._draw_bars(t, view, xs, ys, picture)
        truths = self._truths(drawn, covered, view, self.things)
        gain = 1.0 + self.flicker[2] + self.flicker[0] * np.sin(self.flicker[1] * t)
        picture *= np.float32(gain)
        return np.clip(picture, 0, 255, out=picture), truths

    def _draw(self, thing, t, view, picture):
        """Paints the thing; returns (thing, extent in pixels, patch origin, its mask) or None when out of view."""
        cx, cy = thing.position_at(t)
        radius, angle = thing.radius_at(t), thing.angle + thing.spin * t
        cos, sin = np.cos(angle), np.sin(angle)
        points = _contour(thing.label) * (radius, radius * thing.aspect)
        outline = points @ np.array([(cos, sin), (-sin, cos)]) + (cx, cy)
        low = (outline.min(0) - (view.x0, view.y0)) * view.scale
        high = (outline.max(0) - (view.x0, view.y0)) * view.scale
        if high[0] <= 0 or high[1] <= 0 or low[0] >= view.width or low[1] >= view.height:
            return None
        # The patch is not clipped to the picture, so that its mask measures the whole object.
        i0, j0 = int(np.floor(low[0])) - 1, int(np.floor(low[1])) - 1
        i1, j1 = int(np.ceil(high[0])) + 1, int(np.ceil(high[1])) + 1
        px = (view.x0 + (np.arange(i0, i1, dtype=np.float32) + 0.5) / view.scale - cx) / radius
        py = (view.y0 + (np.arange(j0, j1, dtype=np.float32) + 0.5) / view.scale - cy) / radius
        u = (px[None] * cos + py[:, None] * sin).astype(np.float32)
        v = ((py[:, None] * cos - px[None] * sin) / thing.aspect).astype(np.float32)
        distance = _distance(thing.label, u, v) * np.float32(radius)
        self._paint(thing, u, v, distance, view, picture, (i0, j0))
        return thing, (low[0], low[1], high[0], high[1]), (i0, j0), distance < 0

    @staticmethod
    def _paint(thing, u, v, distance, view, picture, origin):
        (i0, j0), (h, w) = origin, distance.shape
        a, b = max(i0, 0), max(j0, 0)
        c, d = min(i0 + w, view.width), min(j0 + h, view.height)
        inside = np.s_[b - j0 : d - j0, a - i0 : c - i0]
        u, v, distance = u[inside], v[inside], distance[inside]
        alpha = np.clip(0.5 - distance / thing.opacity_edge, 0, 1)[..., None]
        kind, frequency, phase = thing.texture
        mix = _mix_weight(kind, u, v, frequency, phase, thing.grid).astype(np.float32)[..., None]
        colour = thing.colours[0] + mix * (thing.colours[1] - thing.colours[0])
        if thing.outline:
            rim = np.clip((distance + thing.outline * thing.radius) / 1.5, 0, 1)[..., None]
            colour = colour + rim * (thing.outline_colour - colour)
        patch = picture[b:d, a:c]
        patch += alpha * (colour - patch)

    def _draw_bars(self, t, view, xs, ys, picture):
        covered = None
        for bar in self.bars:
            along, across = (ys[:, None], xs[None]) if bar["vertical"] else (xs[None], ys[:, None])
            extent = WORLD_W if bar["vertical"] else WORLD_H
            centre = _bounce(bar["offset"] * extent + bar["speed"] * t, 0.0, extent) + bar["slope"] * (along - 400)
            distance = np.abs(across - centre) - bar["width"] / 2
            alpha = np.clip(0.5 - distance / 2, 0, 1).astype(np.float32)[..., None]
            picture += alpha * (bar["colour"] - picture)
            mask = distance < 0
            covered = mask if covered is None else covered | mask
        return covered if covered is not None else np.zeros((view.height, view.width), bool)

    @staticmethod
    def _truths(drawn, covered, view, things):
        truths = []
        for thing, extent, (i0, j0), mask in reversed(drawn):  # front to back
            h, w = mask.shape
            a, b, c, d = max(i0, 0), max(j0, 0), min(i0 + w, view.width), min(j0 + h, view.height)
            own = mask[b - j0 : d - j0, a - i0 : c - i0]
            visible = own & ~covered[b:d, a:c]
            area, total = int(visible.sum()), int(mask.sum())
            covered[b:d, a:c] |= own
            if area == 0 or total == 0:
                continue
            box = _tight_box(visible, own, (a, b), extent, view)
            world = tuple(
                float(value / view.scale + offset) for value, offset in zip(box, (view.x0, view.y0) * 2)
            )
            number = next(k for k, one in enumerate(things) if one is thing)
            truths.append(Truth(thing.label, world, area / total, number))
        truths.reverse()
        return truths


def _edges(mask):
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def _tight_box(visible, own, origin, extent, view):
    """The box of what shows. A side that nothing covers takes the exact extent: masks only know whole pixels."""
    shown, whole = _edges(visible), _edges(own)
    limits = (0, 0, view.width, view.height)
    box = []
    for side in range(4):
        if shown[side] == whole[side]:
            clip = max if side < 2 else min
            box.append(clip(extent[side], limits[side]))
        else:
            box.append(shown[side] + origin[side % 2])
    return box


# ---------------------------------------------------------------------------------------------------- degradations


def add_sensor_noise(picture, sigma, rng):
    """Mostly luma noise, some colour noise; in place."""
    luma = rng.standard_normal(picture.shape[:2], dtype=np.float32) * np.float32(sigma)
    picture += luma[..., None]
    picture += rng.standard_normal(picture.shape, dtype=np.float32) * np.float32(0.3 * sigma)
    return np.clip(picture, 0, 255, out=picture)


def _blur(plane, weight):
    """Three taps each way; weight is that of each neighbour."""
    for axis in (0, 1):
        plane = plane * (1 - 2 * weight) + weight * (np.roll(plane, 1, axis) + np.roll(plane, -1, axis))
    return plane


def _dct_matrix(n):
    k = np.arange(n)
    m = np.sqrt(2 / n) * np.cos(np.pi * (2 * k[None] + 1) * k[:, None] / (2 * n))
    m[0] /= np.sqrt(2)
    return m.astype(np.float32)


_DCT = {n: _dct_matrix(n) for n in (4, 8)}


def _quantise(plane, n, step):
    """What a block codec does to a plane: coefficients rounded to multiples of step (width, height multiples of n)."""
    h, w = plane.shape
    m = _DCT[n]
    blocks = plane.reshape(h // n, n, w // n, n).transpose(0, 2, 1, 3)
    coefficients = np.round(m @ blocks @ m.T / step) * step
    return (m.T @ coefficients @ m).transpose(0, 2, 1, 3).reshape(h, w)


def degrade(picture, rng):
    """Stands in for H.264, 4:2:0 and a plain bilinear resize; training only (the clip has the real thing)."""
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    blue_difference, red_difference = blue - luma, red - luma
    soft = rng.uniform(0.05, 0.3)
    blue_difference, red_difference = _blur(blue_difference, soft), _blur(red_difference, soft)
    if rng.random() < 0.6:
        luma = _blur(luma, rng.uniform(0.0, 0.2))
    if rng.random() < 0.6:
        n, step = int(rng.choice((4, 8))), rng.uniform(2, 26)
        luma = _quantise(luma, n, step)
        blue_difference, red_difference = _quantise(blue_difference, 4, step), _quantise(red_difference, 4, step)
    red, blue = luma + red_difference, luma + blue_difference
    green = (luma - 0.2126 * red - 0.0722 * blue) / 0.7152
    return np.clip(np.stack([red, green, blue], -1), 0, 255)
