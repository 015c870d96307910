// SPDX-License-Identifier: Apache-2.0
// Opens comments.
#include <tenon/devices/gpu/program/warpgroups.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

constexpr std::string_view kBegin = "/*sm_90a ", kEnd = " sm_90a*/", kTarget = ".target sm_90";

}  // namespace

bool has_warpgroups(std::string_view text) { return text.find(kBegin) != text.npos; }

std::optional<std::string> open_warpgroups(std::string_view ptx) {
  ptx = ptx.substr(0, ptx.find('\0'));
  const std::size_t target = ptx.find(kTarget);
  if (target == ptx.npos) return std::nullopt;
  const std::size_t name_end = target + kTarget.size();
  // Another architecture than this one: 90a, 900.
  if (name_end < ptx.size() && std::string_view("\r\n\t ,").find(ptx[name_end]) == std::string_view::npos)
    return std::nullopt;
  std::string opened(ptx.substr(0, name_end));
  opened += 'a';
  bool has_opened = false;
  for (std::size_t at = name_end;;) {
    const std::size_t begin = ptx.find(kBegin, at);
    opened += ptx.substr(at, begin == ptx.npos ? begin : begin - at);
    if (begin == ptx.npos) break;
    const std::size_t code = begin + kBegin.size(), end = ptx.find(kEnd, code);
    if (end == ptx.npos) return std::nullopt;
    opened += ptx.substr(code, end - code);
    at = end + kEnd.size();
    has_opened = true;
  }
  if (!has_opened) return std::nullopt;
  return opened;
}

}  // namespace tenon::inline v1::gpu_device
