// What several kernels of a program may begin with: how much boxes overlap (the intersection over the union), and how many
// of a class are better.
#ifndef TENON_BOXES
#define TENON_BOXES

// Of y1, x1, y2, x2 in any order, or of centre and extents.
inline float4 corners_of(float4 box, bool is_centre) {
  if (is_centre)
    return (float4)(box.y - box.w / 2, box.x - box.z / 2, box.y + box.w / 2, box.x + box.z / 2);
  return (float4)(fmin(box.x, box.z), fmin(box.y, box.w), fmax(box.x, box.z), fmax(box.y, box.w));
}
inline float overlap_of(float4 a, float4 b) {
  const float area_a = (a.z - a.x) * (a.w - a.y), area_b = (b.z - b.x) * (b.w - b.y);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = fmax(0.0f, fmin(a.z, b.z) - fmax(a.x, b.x)), width = fmax(0.0f, fmin(a.w, b.w) - fmax(a.y, b.y));
  return height * width / (area_a + area_b - height * width);
}

// Of boxes whose ends are pixels of their own if `more` is 1. `least`: boxes apart never overlap.
inline float pixel_area(float4 a, float more) {
  return a.z < a.x || a.w < a.y ? 0 : (a.z - a.x + more) * (a.w - a.y + more);
}
inline float pixel_overlap(float4 a, float4 b, float more, float least) {
  const float width = fmin(a.z, b.z) - fmax(a.x, b.x) + more, height = fmin(a.w, b.w) - fmax(a.y, b.y) + more;
  if (width <= 0 || height <= 0 || width < least || height < least) return 0;
  return width * height / (pixel_area(a, more) + pixel_area(b, more) - width * height);
}

// Of boxes whose edges may touch; `more` as above.
inline float region_overlap(float4 a, float4 b, float more) {
  const float width = fmin(a.z, b.z) - fmax(a.x, b.x), height = fmin(a.w, b.w) - fmax(a.y, b.y);
  if (width < 0 || height < 0) return 0;
  const float both = fmax(0.0f, width + more) * fmax(0.0f, height + more);
  return both / ((a.z - a.x + more) * (a.w - a.y + more) + (b.z - b.x + more) * (b.w - b.y + more) - both);
}

// Of centre, extents and angle: the part of one within each edge of the other.
inline void rotated_corners(float8 box, float turn, float2* corners) {
  const float angle = box.s4 * turn, c = cos(angle), s = sin(angle);
  for (int i = 0; i < 4; ++i) {
    const float x = (i == 0 || i == 3 ? -0.5f : 0.5f) * box.s2, y = (i < 2 ? -0.5f : 0.5f) * box.s3;
    corners[i] = (float2)(x * c - y * s, x * s + y * c);
  }
}
inline float polygon_area(const float2* points, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    const float2 a = points[i], b = points[i + 1 < count ? i + 1 : 0];
    sum += a.x * b.y - b.x * a.y;
  }
  return fabs(sum) / 2;
}
inline float rotated_overlap(float8 a, float8 b, float turn) {
  float2 clip[4], points[2][12];
  rotated_corners(a, turn, points[0]);
  rotated_corners(b, turn, clip);
  const float area = polygon_area(points[0], 4) + polygon_area(clip, 4);
  const float2 apart = b.s01 - a.s01;
  for (int i = 0; i < 4; ++i) clip[i] += apart;
  int count = 4, from = 0;
  for (int i = 0; i < 4 && count > 0; ++i, from = 1 - from) {
    const float2 p = clip[i], along = clip[(i + 1) % 4] - p;
    int kept = 0;
    for (int k = 0; k < count; ++k) {
      const float2 begin = points[from][k], end = points[from][k + 1 < count ? k + 1 : 0];
      const float s = along.x * (begin.y - p.y) - along.y * (begin.x - p.x),
                  t = along.x * (end.y - p.y) - along.y * (end.x - p.x);
      if (s >= 0 && kept < 12) points[1 - from][kept++] = begin;
      if (((s > 0 && t < 0) || (s < 0 && t > 0)) && kept < 12)
        points[1 - from][kept++] = begin + s / (s - t) * (end - begin);
    }
    count = kept;
  }
  const float both = count > 0 ? polygon_area(points[from], count) : 0;
  return area - both > 0 ? both / (area - both) : 0;
}

// How many of these, the greatest first, are greater than `score`, or equal to it.
inline int better(__global const float* scores, int count, float score, bool or_equal) {
  int low = 0, high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (scores[middle] > score || (or_equal && scores[middle] == score)) low = middle + 1; else high = middle;
  }
  return low;
}
#endif
