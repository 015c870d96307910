// SPDX-License-Identifier: Apache-2.0
// Special registers.
#include <tenon/devices/gpu/twin/ptx.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

namespace tenon::inline v1::gpu_device {

bool is_ptx(std::string_view binary) { return binary.find("\n.version ") != std::string_view::npos; }

namespace {

/// The compute capability that the text is for, times 10; 0 if it does not say, or no architecture has so many digits.
int capability_of(std::string_view ptx) {
  constexpr std::string_view kTarget = "\n.target sm_";
  const std::size_t at = ptx.find(kTarget);
  int number = 0;
  if (at != std::string_view::npos &&
      std::from_chars(ptx.data() + at + kTarget.size(), ptx.data() + ptx.size(), number).ec != std::errc())
    return 0;
  return number;
}

/// Whether no instruction is on the line: nothing, a declaration, a comment.
bool declares(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || line[first] == '.' || line.substr(first, 2) == "//";
}

/// What stands in a kernel's text where it is to wait, if that is not at its begin (kernels/early_nvidia.cl).
constexpr std::string_view kMark = "/*wait for kernels*/";
constexpr std::string_view kWait = "griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;";

/// The text with a wait in each kernel: where it says so, or else before its first instruction.
std::string with_waits(std::string_view ptx) {
  std::string text;
  text.reserve(ptx.size() + 4096);
  enum { kOutside, kSignature, kDeclarations } where = kOutside;
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
    const std::string_view line = ptx.substr(at, end - at),
                           words = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    if (where == kDeclarations && !declares(words)) {
      const bool has_mark = ptx.substr(at, ptx.find("\n}\n", at) - at).find(kMark) != std::string_view::npos;
      if (!has_mark) ((text += '\t') += kWait) += '\n';
      where = kOutside;
    }
    if (words.find(".entry ") != std::string_view::npos) where = kSignature;
    if (where == kSignature && words == "{") where = kDeclarations;
    const std::size_t mark = line.find(kMark);
    text += line.substr(0, mark);
    if (mark != std::string_view::npos) (text += kWait) += line.substr(mark + kMark.size());
    at = end;
  }
  return text;
}

/// The text with local memory of which launches say how much there is, instead of the arrays that bear its name.
std::string with_graphs_memory(std::string text) {
  constexpr std::string_view kName = "_graphs_memory[", kBegin = ".shared .align 1024 .b8 ",
                             kBefore = ".address_size 64\n";
  std::string declarations;
  for (std::size_t at = text.find(kName); at != std::string::npos; at = text.find(kName, at)) {
    const std::size_t line = text.rfind('\n', at) + 1, end = std::min(text.find('\n', at), text.size()),
                      begin = text.find(kBegin, line), name = at;
    at = end;
    if (begin >= name) continue;  // Not a declaration, or one of another line.
    declarations += ".extern " + text.substr(begin, text.find('[', begin) - begin) + "[];\n";
    text.erase(line, end - line);
    at = line;
  }
  const std::size_t before = text.find(kBefore);
  if (before != std::string::npos) text.insert(before + kBefore.size(), declarations);
  return text;
}

std::string with_cudas_registers(std::string_view ptx) {
  constexpr std::string_view kRegister = "%envreg";
  std::string text;
  text.reserve(ptx.size());
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t found = std::min(ptx.find(kRegister, at), ptx.size());
    text += ptx.substr(at, found - at);
    if (found == ptx.size()) break;
    const std::size_t digit = found + kRegister.size();
    const bool is_one_digit = digit + 1 >= ptx.size() || !std::isdigit(static_cast<unsigned char>(ptx[digit + 1]));
    const char number = digit < ptx.size() && is_one_digit ? ptx[digit] : '\0';
    if (number >= '0' && number <= '5') {
      text += '0';
      at = digit + 1;
    } else if (number >= '6' && number <= '8') {
      text += "%nctaid.";
      text += static_cast<char>('x' + (number - '6'));
      at = digit + 1;
    } else {
      text += kRegister;
      at = digit;
    }
  }
  return text;
}

}  // namespace

bool has_waits(std::string_view ptx) { return capability_of(ptx) >= 90; }

std::string ptx_for_cuda(std::string_view ptx) {
  const std::string text = with_graphs_memory(with_cudas_registers(ptx));
  return has_waits(ptx) ? with_waits(text) : text;
}

}  // namespace tenon::inline v1::gpu_device
