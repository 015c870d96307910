// SPDX-License-Identifier: Apache-2.0
// A stream buffer over bytes that stay where they are.
#pragma once

#include <cstddef>
#include <ios>
#include <streambuf>

namespace tenon {
inline namespace v1 {

class BytesBuffer final : public std::streambuf {
 public:
  BytesBuffer(const void* data, std::size_t size) {
    char* begin = const_cast<char*>(static_cast<const char*>(data));
    setg(begin, begin, begin + size);
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const off_type base = from == std::ios_base::beg   ? 0
                          : from == std::ios_base::cur ? gptr() - eback()
                                                       : egptr() - eback();
    const off_type at = base + offset;
    if (at < 0 || at > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + at, egptr());
    return pos_type(at);
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode which) override {
    return seekoff(off_type(position), std::ios_base::beg, which);
  }
};

}  // namespace v1
}  // namespace tenon
