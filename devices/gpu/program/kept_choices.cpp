// SPDX-License-Identifier: Apache-2.0
// The table of what was measured.
#include <tenon/devices/gpu/program/kept_choices.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/program/kept_bytes.hpp>
#include <tenon/store/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

[[noreturn]] void tuning_damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "GPU: the table of tuned kernels is damaged: " + what);
}
const KeptKind& kept_choices() {
  static const KeptKind kind{
      .rules = {.suffix = ".cl_tuning", .entry_mode = 0600, .is_private = true},
      .format = {.magic = "TENONTUN", .version = 1, .minor = 0, .damaged = &tuning_damaged},
      .folder_bytes = std::uint64_t{16} << 20,
  };
  return kind;
}

Choices read_table(std::string_view bytes) {
  store::TableReader reader(bytes, &tuning_damaged);
  Choices choices;
  for (std::uint64_t left = reader.count(); left > 0; --left) {
    std::string problem = reader.text();
    choices[std::move(problem)] = reader.text();
  }
  return choices;
}

std::string write_table(const Choices& choices) {
  store::TableWriter writer;
  writer.number(choices.size());
  for (const auto& [problem, name] : choices) {
    writer.text(problem);
    writer.text(name);
  }
  return std::move(writer).bytes();
}

}  // namespace

KeptChoices read_choices(const std::filesystem::path& folder, const store::ContentHash& key) {
  const KeptBytes kept = read_kept(folder, kept_choices(), key);
  return {kept.bytes.empty() ? Choices() : read_table(kept.bytes), kept.distrust};
}

void write_choices(const std::filesystem::path& folder, const store::ContentHash& key, const Choices& choices) {
  write_kept(folder, kept_choices(), key, write_table(choices));
}

}  // namespace tenon::inline v1::gpu_device
