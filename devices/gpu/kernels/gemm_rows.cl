// A product of matrices for devices whose work-items are CPU cores' loops: each computes PER_M rows of 16 columns in
// vectors. LEFT(batch, m, k), RIGHT(batch, k, n) and RIGHT16(batch, k, n), 16 neighbours of a row; STORE_AT(value,
// batch, m, n).
KERNEL {
  const int n0 = (int)get_global_id(0) * 16, m0 = (int)get_global_id(1) * PER_M, batch = (int)get_global_id(2);
  if (n0 >= N || m0 >= M) return;
  if (n0 + 16 <= N && m0 + PER_M <= M) {
    float16 sum[PER_M];
    for (int i = 0; i < PER_M; ++i) sum[i] = 0;
    for (int k = 0; k < K; ++k) {
      const float16 b = RIGHT16(batch, k, n0);
#pragma unroll
      for (int i = 0; i < PER_M; ++i) sum[i] = fma((float16)(LEFT(batch, m0 + i, k)), b, sum[i]);
    }
    for (int i = 0; i < PER_M; ++i) {
      float row[16];
      vstore16(sum[i], 0, row);
      for (int j = 0; j < 16; ++j) STORE_AT(row[j], batch, m0 + i, n0 + j);
    }
    return;
  }
  for (int m = m0; m < min(m0 + PER_M, M); ++m)
    for (int n = n0; n < min(n0 + 16, N); ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum = fma(LEFT(batch, m, k), RIGHT(batch, k, n), sum);
      STORE_AT(sum, batch, m, n);
    }
}
