// SPDX-License-Identifier: Apache-2.0
// A stream into a file that appears whole or not at all, for writers that take a std::ostream.
#pragma once

#include <cstddef>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <vector>

#include <tenon/core/file.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

class NewFileBuffer : public std::streambuf {
 protected:
  explicit NewFileBuffer(const std::filesystem::path& path, std::size_t room_bytes) : file_(path), room_(room_bytes) {
    empty();
  }
  int_type overflow(int_type c) override {
    sync();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    if (size < epptr() - pptr()) return std::streambuf::xsputn(data, size);
    sync();
    file_.write(data, static_cast<std::size_t>(size));
    return size;
  }
  int sync() override {
    file_.write(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    empty();
    return 0;
  }
  NewFile file_;

 private:
  void empty() { setp(room_.data(), room_.data() + room_.size()); }
  std::vector<char> room_;
};

}  // namespace detail

/// A stream into a NewFile: commit() gives the file its name. What goes wrong is thrown on, from whatever writes, as the file's own error.
/// Holds 1 MiB. @thread as NewFile.
class NewFileStream final : private detail::NewFileBuffer, public std::ostream {
 public:
  /// @errors as NewFile
  explicit NewFileStream(const std::filesystem::path& path)
      : NewFileBuffer(path, std::size_t{1} << 20), std::ostream(static_cast<std::streambuf*>(this)) {
    exceptions(std::ios::badbit);  // So that the file's own error is thrown on.
  }
  /// Completes the file; without it the destructor removes what was written. @errors as NewFile::commit()
  void commit() {
    flush();
    file_.commit();
  }
};

}  // namespace v1
}  // namespace tenon
