// A product of matrices, one work-item for each element of the result: for types other than real ones of 32 bits and
// fewer, and for small results. LEFT(batch, m, k), RIGHT(batch, k, n); STORE_AT(value, batch, m, n).
KERNEL {
  const int n = (int)get_global_id(0), m = (int)get_global_id(1), batch = (int)get_global_id(2);
  if (n >= N || m >= M) return;
  ACC sum = 0;
  for (int k = 0; k < K; ++k) sum += (ACC)LEFT(batch, m, k) * (ACC)RIGHT(batch, k, n);
  STORE_AT(sum, batch, m, n);
}
