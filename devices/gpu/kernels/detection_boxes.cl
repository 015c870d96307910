// Boxes around priors, one work-item for each: DELTA(i) of [PICTURES, BOXES, LOCATIONS, 4], PRIOR(i) of rows of PRIOR_ROW numbers
// and, with HAS_VARIANCES, rows of variances; DECODED_SET(i, v).
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int prior = at / LOCATIONS % BOXES, picture = at / (LOCATIONS * BOXES);
  const int row = (PRIOR_PICTURES == 1 ? 0 : picture) * (1 + HAS_VARIANCES) * PRIOR_ROW;
  const int first = row + prior * PRIOR_SIZE + PRIOR_SIZE - 4;
  const float4 anchor = (float4)(PRIOR(first), PRIOR(first + 1), PRIOR(first + 2), PRIOR(first + 3)) / SCALE;
#if HAS_VARIANCES
  const int own = row + PRIOR_ROW + prior * 4;
  const float4 variance = (float4)(PRIOR(own), PRIOR(own + 1), PRIOR(own + 2), PRIOR(own + 3));
#else
  const float4 variance = (float4)(1);
#endif
  const float4 delta = variance * (float4)(DELTA(4 * at), DELTA(4 * at + 1), DELTA(4 * at + 2), DELTA(4 * at + 3));
#if IS_CORNER
  float4 box = anchor + delta;
#else
  const float2 size = anchor.zw - anchor.xy, middle = delta.xy * size + (anchor.xy + anchor.zw) / 2;
  const float2 around = exp(delta.zw) * size;
  float4 box = (float4)(middle - around / 2, middle + around / 2);
#endif
#if CLIPS
  box = clamp(box, 0.0f, 1.0f);
#endif
  for (int i = 0; i < 4; ++i) DECODED_SET(4 * at + i, ((float*)&box)[i]);
}
