// SPDX-License-Identifier: Apache-2.0
// Sealing headers, and judging them.
#include <tenon/store/sealed_header.hpp>

#include <string>

namespace tenon::inline v1::store {
namespace detail {

void unseal(std::string_view bytes, void* header, std::size_t header_bytes, const Format& format) {
  if (bytes.size() < header_bytes)
    say_damaged(format.damaged,
                std::to_string(bytes.size()) + " bytes are there, its header has " + std::to_string(header_bytes));
  std::memcpy(header, bytes.data(), header_bytes);
  SealStart start;
  std::memcpy(&start, header, sizeof start);
  if (!bytes.starts_with(format.magic)) {
    if (format.foreign) format.foreign();
    say_damaged(format.damaged, "it does not begin with " + std::string(format.magic));
  }
  if (start.version != format.version || (format.minor && start.minor != *format.minor)) {
    if (format.other_version) format.other_version(start);
    say_damaged(format.damaged,
                "it has format " + std::to_string(start.version) + ", expected is " + std::to_string(format.version));
  }
  ContentHash own;
  const std::size_t hashed = header_bytes - sizeof own;
  std::memcpy(&own, bytes.data() + hashed, sizeof own);
  if (own != content_hash(bytes.data(), hashed))
    say_damaged(format.damaged, "its header does not have the hash that it names");
}

void seal(SealStart& start, const Format& format) {
  std::memcpy(start.magic, format.magic.data(), sizeof start.magic);
  start.version = format.version;
  if (format.minor) start.minor = *format.minor;
}

}  // namespace detail

void check_total(const SealStart& start, std::size_t header_bytes, std::size_t available, const Damaged& damaged) {
  if (start.total > available)
    say_damaged(damaged, std::to_string(available) + " bytes of " + std::to_string(start.total) + " are there");
  if (start.total < header_bytes)
    say_damaged(damaged,
                "it names " + std::to_string(start.total) + " bytes, its header has " + std::to_string(header_bytes));
}

void check_content(const SealStart& start, std::size_t header_bytes, std::string_view bytes, const Damaged& damaged) {
  if (start.content != content_hash(bytes.data() + header_bytes, start.total - header_bytes))
    say_damaged(damaged, "its content does not have the hash that its header names");
}

}  // namespace tenon::inline v1::store
