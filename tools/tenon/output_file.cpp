// SPDX-License-Identifier: Apache-2.0
// Output files: temporary name, then rename.
#include "output_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::tool {
namespace fs = std::filesystem;

OutputFile::OutputFile(const std::string& path, std::string_view option) : path_(path), option_(option) {
  const std::string what = option_ + " \"" + path + "\"";
  std::error_code ignored;
  if (path_.filename().empty() || fs::is_directory(path_, ignored)) {
    throw Error(Code::kInvalidArgument, what + " is a folder or has no name; give a file name");
  }
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) {
    throw Error(Code::kNotFound, what + ": there is no folder \"" + folder.string() + "\"; make it first");
  }
  if (fs::exists(path_, ignored) && ::access(path_.c_str(), W_OK) != 0) {
    throw Error(Code::kPermissionDenied, what + " exists and may not be overwritten; choose another name");
  }
  partial_ = folder / ("." + path_.filename().string() + "." + std::to_string(::getpid()) + ".partial");
  const int fd = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    const int error = errno;
    partial_.clear();
    throw Error(Code::kPermissionDenied, what + " cannot be written: " + std::generic_category().message(error) +
                                             "; choose a folder that you may write to");
  }
  ::close(fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      partial_(std::exchange(other.partial_, {})),
      option_(std::move(other.option_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::exchange(other.path_, {});
  partial_ = std::exchange(other.partial_, {});
  option_ = std::move(other.option_);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::commit(std::string_view content) {
  if (partial_.empty()) return;
  const std::string what = option_ + " \"" + path_.string() + "\"";
  const int fd = ::open(partial_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  while (fd >= 0 && error == 0 && !content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written >= 0)
      content.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error = errno;
  }
  if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
  if (error)
    throw Error(Code::kResourceExhausted, what + " cannot be written: " + std::generic_category().message(error));
  std::error_code failure;
  fs::rename(partial_, path_, failure);
  if (failure) throw Error(Code::kPermissionDenied, what + " cannot be put in place: " + failure.message());
  partial_.clear();
}

void OutputFile::discard() noexcept {
  if (!partial_.empty()) ::unlink(partial_.c_str());
  partial_.clear();
}

}  // namespace tenon::tool
