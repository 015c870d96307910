// SPDX-License-Identifier: Apache-2.0
// Built at configuration by a second compiler: what core's public headers need of a compiler and its standard library.
#include <atomic>
#include <compare>
#include <concepts>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>

namespace {

template <typename T>
concept Sized = requires(const T& value) {
  { value.size() } -> std::convertible_to<std::size_t>;
};

struct Place {
  std::size_t offset = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

std::size_t line(std::source_location where = std::source_location::current()) { return where.line(); }

std::size_t size_of(const Sized auto& value) { return value.size(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) std::size_t probe(const int* data, std::size_t count) {
  std::atomic<std::size_t> sum{0};
  for (const int value : std::span(data, count)) sum += static_cast<std::size_t>(value);
  sum.notify_all();
  if (Place{sum} < Place{}) throw std::runtime_error("never");
  return sum + line() + size_of(std::string("x"));
}
