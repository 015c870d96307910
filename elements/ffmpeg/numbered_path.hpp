// SPDX-License-Identifier: Apache-2.0
// The parameter 'path' of sinks that write many files: {number} counts them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {

class NumberedPath {
 public:
  /// @param each  What a file is for: "picture". @errors kInvalidArgument: 'path' has no {number}.
  NumberedPath(const Parameters& given, const Environment& environment, const std::string& each)
      : owner_(given.owner()), path_(given.text("path")), files_(environment.files) {
    if (path_.find("{number}") == std::string::npos)
      throw Error(Code::kInvalidArgument, owner_ + ": parameter 'path' is \"" + path_ +
                                              "\"; put {number} into it, so that each " + each +
                                              " has a file of its own");
  }

  /// How many paths were given.
  std::uint64_t count() const { return number_; }

  /// The path of the next file. @param fill  Called with it, to fill other places than {number} and {stream}.
  /// @errors kInvalidArgument: the pipeline reads this file.
  template <typename Fill>
  std::string next(std::uint32_t stream, Fill&& fill) {
    std::string path = path_;
    char number[24];
    std::snprintf(number, sizeof number, "%06llu", static_cast<unsigned long long>(++number_));
    put_in(path, "{number}", number);
    put_in(path, "{stream}", std::to_string(stream));
    fill(path);
    if (files_ && files_->is_input(path))
      throw Error(Code::kInvalidArgument, owner_ + ": \"" + path + "\" is read by the pipeline; give another path");
    return path;
  }

  /// None is known before it is written.
  static ElementFiles files_before(const Parameters&, const Environment&) { return {}; }

 private:
  const std::string owner_, path_;
  const std::shared_ptr<UsedFiles> files_;
  std::uint64_t number_ = 0;
};

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
