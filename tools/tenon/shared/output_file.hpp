// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all, whose paths are known to be writable before the work starts, and that are
// none of the files that the command reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/unfinished.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/graph/model.hpp>

#include <tenon/tools/tenon/shared/interrupt.hpp>

namespace tenon {
inline namespace v1 {
class Core;
}
}  // namespace tenon

namespace tenon::tool {

/// The files that one command reads and writes, each of which it registers here.
using CommandFiles = UsedFiles;

/// Core::read_model, which registers the model, its weights and all other files that it reads as inputs.
/// @errors kInvalidArgument: an output would replace one of them; as Core::read_model
std::shared_ptr<Model> read_model(Core& core, CommandFiles& files, const std::string& path,
                                  const std::string& weights = {});

/// Registers a file that will be written, and replaced each time.
/// @errors kInvalidArgument: no name for a file, one of `files`, or something else than a file; kNotFound: no such folder;
/// kPermissionDenied.
void add_output(const std::filesystem::path& path, std::string_view option, CommandFiles& files);

/// Makes a temporary file beside `path` at once. commit() gives it its name; the destructor or a signal removes a file that
/// was not committed.
class OutputFile {
 public:
  /// Nothing to write: commit() does nothing.
  OutputFile() = default;
  /// @param path    Empty: nothing to write.
  /// @param option  Names the option in messages: "--report".
  /// @errors as add_output(); kPermissionDenied: the folder
  OutputFile(const std::string& path, std::string_view option, CommandFiles& files);
  OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  explicit operator bool() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }
  /// The temporary file, for code that writes by name and then calls commit() without content.
  const std::filesystem::path& partial() const { return file_->temporary(); }
  /// @errors kResourceExhausted: the disk is full; kPermissionDenied: the name is taken by a file that cannot be replaced.
  void commit(std::string_view content);
  void commit();

 private:
  void discard() noexcept;
  template <typename Body>
  void attempt(Code code, const char* what, const char* remedy, Body body) const;
  std::filesystem::path path_;
  std::string option_;
  std::unique_ptr<NewFile> file_;
  Unfinished unfinished_;
};

}  // namespace tenon::tool
