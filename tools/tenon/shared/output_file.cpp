// SPDX-License-Identifier: Apache-2.0
// Output files: written under a temporary name, then renamed. Keeps track of the files that a command must not overwrite.
#include <tenon/tools/tenon/shared/output_file.hpp>

#include <system_error>
#include <utility>

#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/runtime/core.hpp>

namespace tenon::tool {
namespace fs = std::filesystem;
namespace {

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

std::shared_ptr<Model> read_model(Core& core, CommandFiles& files, const std::string& path,
                                  const std::string& weights) {
  files.add_input(path, "the model");
  files.add_input(weights, "the weights");
  const MappedFiles mapped;
  std::shared_ptr<Model> model = core.read_model(path, weights);
  for (const MappedFiles::File& file : mapped.all()) files.add_input(file.path.string(), "the model's file");
  return model;
}

void add_output(const fs::path& path, std::string_view option, CommandFiles& files) {
  const std::string what = std::string(option) + " \"" + path.string() + "\"";
  std::error_code ignored;
  if (path.filename().empty() || fs::is_directory(path, ignored)) {
    throw Error(Code::kInvalidArgument, what + " is a folder or has no name; give a file name");
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    throw Error(Code::kInvalidArgument,
                what + " is a device, a pipe or a socket, and would become a file; give a name");
  }
  const fs::path folder = folder_of(path);
  if (!fs::is_directory(folder, ignored)) {
    throw Error(Code::kNotFound, what + ": there is no folder \"" + folder.string() + "\"; make it first");
  }
  files.add_output(path, std::string(option));
  if (fs::exists(path, ignored) && ::access(path.c_str(), W_OK) != 0) {
    throw Error(Code::kPermissionDenied, what + " exists and may not be overwritten; choose another name");
  }
}

OutputFile::OutputFile(const std::string& path, std::string_view option, CommandFiles& files)
    : path_(path), option_(option) {
  if (path.empty()) return;
  add_output(path_, option_, files);
  const HeldSignals held;  // No signal may come between the file's creation and its entry among the unfinished ones.
  NewFile::remove_abandoned(path_);
  attempt(Code::kPermissionDenied, "cannot be written", "; choose a folder that you may write to",
          [this] { file_ = std::make_unique<NewFile>(path_); });
  unfinished_ = Unfinished(file_->temporary());
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::exchange(other.path_, {});
  option_ = std::move(other.option_);
  file_ = std::move(other.file_);
  unfinished_ = std::move(other.unfinished_);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

template <typename Body>
void OutputFile::attempt(Code code, const char* what, const char* remedy, Body body) const {
  try {
    body();
  } catch (const Error& error) {
    throw Error(code,
                option_ + " \"" + path_.string() + "\" " + what + ": " +
                    std::generic_category().message(static_cast<int>(error.native_code())) + remedy,
                error.native_api(), error.native_code());
  }
}

void OutputFile::commit(std::string_view content) {
  if (!file_) return;
  attempt(Code::kResourceExhausted, "cannot be written", "", [&] { file_->write(content.data(), content.size()); });
  commit();
}

void OutputFile::commit() {
  if (!file_) return;
  attempt(Code::kResourceExhausted, "cannot be written", "", [this] { file_->flush(); });
  attempt(Code::kPermissionDenied, "cannot be put in place", "", [this] { file_->commit(); });
  discard();
}

void OutputFile::discard() noexcept {
  file_.reset();  // Removes a file that was not committed.
  unfinished_.forget();
}

}  // namespace tenon::tool
