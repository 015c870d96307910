// SPDX-License-Identifier: Apache-2.0
// Reading tables.
#include <tenon/store/table.hpp>

#include <cstring>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::store {

void say_damaged(const Damaged& damaged, const std::string& what) {
  damaged(what);
  throw Error(Code::kDataLoss, "these bytes are damaged or truncated: " + what);
}

std::uint64_t TableReader::number() {
  std::uint64_t value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::uint64_t TableReader::number(std::uint64_t max) {
  const std::uint64_t value = number();
  if (value > max) damaged(words_.out_of_range);
  return value;
}

std::uint64_t TableReader::count() {
  const std::uint64_t value = number();
  if (value > rest_.size() / 8) damaged(words_.too_many);
  return value;
}

ContentHash TableReader::hash() {
  ContentHash value;
  value.low = number();
  value.high = number();
  return value;
}

std::string_view TableReader::take(std::uint64_t size_bytes) {
  if (size_bytes > rest_.size()) damaged(words_.ends_early);
  const std::string_view part = rest_.substr(0, size_bytes);
  rest_.remove_prefix(size_bytes);
  return part;
}

}  // namespace tenon::inline v1::store
