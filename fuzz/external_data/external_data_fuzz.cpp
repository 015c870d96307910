// SPDX-License-Identifier: Apache-2.0
// Any places of weights beside a model: texts of external data in ONNX and offsets in an IR, of any type and shape, over a file of any size,
// mapped or read. Each constant of what is read lies inside the file, byte by byte, or there is an Error.
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/fuzz/bytes.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/read_model.hpp>

namespace {

using namespace tenon;

constexpr std::size_t kMostBytes = 1 << 16;

/// Texts and numbers of a model's external data.
class Bytes : public fuzz::Bytes {
 public:
  using fuzz::Bytes::Bytes;
  std::string text() {
    std::string made(std::min<std::size_t>(next<std::uint8_t>() % 32, left_.size()), ' ');
    for (char& letter : made) letter = static_cast<char>(next<std::uint8_t>());
    return made;
  }
  /// Mostly a number that may be right, sometimes any number or text.
  std::string number() {
    const auto kind = next<std::uint8_t>();
    if (kind < 160) return std::to_string(next<std::uint16_t>());
    if (kind < 220) return std::to_string(next<std::uint64_t>());
    return text();
  }
  std::int64_t extent() {
    const auto kind = next<std::uint8_t>();
    return kind < 224 ? kind % 9 : next<std::int64_t>();
  }
};

/// Protocol buffers, as far as a model needs them.
class Message {
 public:
  void number(unsigned field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void bytes(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

std::string entry(std::string_view key, std::string_view value) {
  Message made;
  made.bytes(1, key);
  made.bytes(2, value);
  return made.text();
}

/// An initializer that says where its data are.
std::string initializer(Bytes& bytes, const std::string& name) {
  Message made;
  for (unsigned left = bytes.next<std::uint8_t>() % 4; left > 0; --left)
    made.number(1, static_cast<std::uint64_t>(bytes.extent()));
  made.number(2, bytes.next<std::uint8_t>() % 32);
  made.bytes(8, name);
  for (unsigned left = 1 + bytes.next<std::uint8_t>() % 4; left > 0; --left) {
    const auto kind = bytes.next<std::uint8_t>();
    const std::string place = kind % 8 < 6 ? "weights.bin" : kind % 8 == 6 ? "./sub/../weights.bin" : bytes.text();
    made.bytes(13, kind < 96    ? entry("location", place)
                   : kind < 150 ? entry("offset", bytes.number())
                   : kind < 200 ? entry("length", bytes.number())
                                : entry(bytes.text(), bytes.text()));
  }
  made.number(14, 1);
  return made.text();
}

std::string onnx_model(Bytes& bytes) {
  Message graph, set, model;
  for (int count = 0; count < 4 && !bytes.is_empty(); ++count) {
    const std::string name = "w" + std::to_string(count);
    Message node, output;
    node.bytes(1, name);
    node.bytes(2, "y" + std::to_string(count));
    node.bytes(4, "Identity");
    output.bytes(1, "y" + std::to_string(count));
    graph.bytes(1, node.text());
    graph.bytes(5, initializer(bytes, name));
    graph.bytes(12, output.text());
  }
  graph.bytes(2, "g");
  set.number(2, 17);
  model.number(1, 8);
  model.bytes(7, graph.text());
  model.bytes(8, set.text());
  return model.text();
}

std::string ir_model(Bytes& bytes) {
  constexpr const char* kTypes[] = {"f32", "f16", "u8",  "i64",  "u1",      "u4",     "i4",  "u2",
                                    "u3",  "u6",  "f64", "bf16", "boolean", "string", "nf4", "f8e4m3"};
  std::string layers, edges;
  for (int count = 0; count < 4 && !bytes.is_empty(); ++count) {
    std::string shape, extents;
    for (unsigned left = bytes.next<std::uint8_t>() % 4; left > 0; --left) {
      const std::string extent = std::to_string(bytes.extent());
      shape += (shape.empty() ? "" : ",") + extent;
      extents += "<dim>" + extent + "</dim>";
    }
    const std::string id = std::to_string(2 * count), after = std::to_string(2 * count + 1),
                      type = kTypes[bytes.next<std::uint8_t>() % std::size(kTypes)];
    layers += "<layer id=\"" + id + "\" name=\"w" + id + "\" type=\"Const\" version=\"opset1\"><data element_type=\"" +
              type + "\" shape=\"" + shape + "\" offset=\"" + bytes.number() + "\" size=\"" + bytes.number() +
              "\"/><output><port id=\"0\">" + extents + "</port></output></layer>" + "<layer id=\"" + after +
              "\" name=\"r" + id + "\" type=\"Result\" version=\"opset1\"><input><port id=\"0\">" + extents +
              "</port></input></layer>";
    edges += "<edge from-layer=\"" + id + "\" from-port=\"0\" to-layer=\"" + after + "\" to-port=\"0\"/>";
  }
  return "<net name=\"n\" version=\"11\"><layers>" + layers + "</layers><edges>" + edges + "</edges></net>";
}

/// A folder that goes with the process.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "tenon_external_data_XXXXXX").string();
    if (!::mkdtemp(made.data())) std::abort();
    path = made;
    std::filesystem::create_directory(path / "sub");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);  // A file that is mapped keeps its bytes.
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Reads each byte of each constant: one outside the file ends the process.
unsigned sum_of(const Model& model) {
  unsigned sum = 0;
  for (const auto& node : model.get_ordered_ops()) {
    const auto* constant = dynamic_cast<const op::v0::Constant*>(node.get());
    if (!constant) continue;
    const Tensor& tensor = constant->get_tensor_view();
    if (tensor.element_type() == ElementType::kString) continue;
    const auto* at = static_cast<const std::uint8_t*>(tensor.data());
    for (std::size_t i = 0; i < tensor.size_bytes(); ++i) sum += at[i];
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  Bytes bytes(data, size);
  const auto flags = bytes.next<std::uint8_t>();
  std::string weights(bytes.next<std::uint16_t>() % kMostBytes, '\0');
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<char>(i);
  write(folder.path / "weights.bin", weights);
  const bool is_ir = flags & 1, is_mapped = flags & 2;
  const auto path = folder.path / (is_ir ? "model.xml" : "model.onnx");
  write(path, is_ir ? ir_model(bytes) : onnx_model(bytes));
  try {
    [[maybe_unused]] volatile unsigned sum =
        sum_of(*read_model(path, is_ir ? folder.path / "weights.bin" : std::filesystem::path(), is_mapped));
  } catch (const Error&) {
  }
  return 0;
}
