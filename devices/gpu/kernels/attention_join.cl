// Joins what groups have summed over their parts of the keys. PART(i): rows of VALUES + 2, PARTS for each row of queries: sums, the
// greatest score, and the sum of the weights. STORE_AT(value, batch, m, d).
KERNEL {
  const int d = (int)get_global_id(0), row = (int)get_global_id(1);
  if (d >= VALUES) return;
  const int first = row * PARTS * (VALUES + 2);
  float most = -INFINITY, sum = 0, total = 0;
  for (int i = 0; i < PARTS; ++i) most = tn_greater(most, PART(first + i * (VALUES + 2) + VALUES));
  for (int i = 0; i < PARTS; ++i) {
    const int at = first + i * (VALUES + 2);
    const float own = PART(at + VALUES), by = own == -INFINITY ? 0 : exp(own - most);
    sum += by * PART(at + d);
    total += by * PART(at + VALUES + 1);
  }
  STORE_AT((total == 0 ? 0 : sum / total), (row / M), (row % M), d);
}
