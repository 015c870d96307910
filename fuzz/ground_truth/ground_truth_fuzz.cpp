// SPDX-License-Identifier: Apache-2.0
// Any text as ground truth, or as results, in each of the forms. It is read, or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/vision/found_lines.hpp>
#include <tenon/vision/ground_truth.hpp>
#include <tenon/vision/labelled_pictures.hpp>
#include <tenon/vision/mot_files.hpp>

namespace {

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const tenon::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon::vision;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] { parse_ground_truth(text); });
  attempt([&] { parse_coco_truth(text); });
  attempt([&] {
    LabelledPictures truth;
    truth.labels = {"a"};
    truth.category_ids = {1};
    truth.pictures.push_back({1, "", 40, 30, {}});
    parse_coco_found(text, truth);
  });
  attempt([&] { parse_mot(text, "gt.txt"); });
  attempt([&] { parse_found_lines(text, "found.jsonl"); });
  return 0;
}
