// SPDX-License-Identifier: Apache-2.0
// Damaged model files give a model or a tenon::Error, whatever the damage. Deterministic; the fuzzers go further.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <gtest/gtest.h>

#include <tenon/graph/limits.hpp>
#include <tenon/graph/readers/internal/weights.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon {
namespace readers_corruption_test {

namespace fs = std::filesystem;

fs::path zoo_file(const std::string& name) {
  const char* folder = std::getenv("TENON_ZOO");
  return fs::path(folder ? folder : "zoo") / name;
}

std::string text_of(const Tensor& bytes) { return {static_cast<const char*>(bytes.data()), bytes.size_bytes()}; }

Tensor tensor_of(const std::string& text) {
  Tensor tensor(ElementType::kU8, Shape{text.size()});
  if (!text.empty()) std::memcpy(tensor.data(), text.data(), text.size());
  return tensor;
}

struct Tally {
  int read = 0, refused = 0;
};

template <typename Read>
void attempt(Read&& read, Tally& tally) {
  try {
    read();
    ++tally.read;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    ++tally.refused;
  }
}

/// Truncates at every step-th byte, then flips bits and overwrites runs at positions from a fixed seed.
template <typename Read>
Tally damage(const std::string& original, std::size_t cuts, int flips, Read&& read) {
  Tally tally;
  const std::size_t step = std::max<std::size_t>(1, original.size() / cuts);
  for (std::size_t length = 0; length < original.size(); length += step) {
    attempt([&] { read(original.substr(0, length)); }, tally);
  }
  std::mt19937_64 random(20261121);
  for (int i = 0; i < flips; ++i) {
    std::string damaged = original;
    const std::size_t at = random() % damaged.size();
    switch (i % 4) {
      case 0:
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
        break;
      case 1:
        damaged[at] = static_cast<char>(random());
        break;
      case 2:
        damaged.replace(at, 10, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
        break;
      default:
        damaged.erase(at, 1 + random() % 16);
        break;
    }
    attempt([&] { read(damaged); }, tally);
  }
  return tally;
}

void expect_some_of_each(const Tally& tally) {
  EXPECT_GT(tally.refused, 0);
  EXPECT_GT(tally.refused + tally.read, 100);
}

void read_onnx_text(const std::string& text) { read_onnx(tensor_of(text)); }

TEST(DamagedOnnx, SmallFileAtEveryByte) {
  expect_some_of_each(damage(text_of(map_file(zoo_file("relu1.onnx"))), 10'000, 4000, read_onnx_text));
}

TEST(DamagedOnnx, StructureWithoutWeights) {
  // bert_tiny's nodes and small constants: damaging megabytes of weights would show nothing.
  const std::string whole = text_of(map_file(zoo_file("bert_tiny.onnx")));
  const std::size_t structure = std::min<std::size_t>(whole.size(), 30'000);
  expect_some_of_each(damage(whole.substr(0, structure), 300, 300, read_onnx_text));
}

TEST(DamagedOnnx, WholeNetworks) {
  for (const char* name :
       {"bert_tiny.onnx", "unet_tiny.onnx", "vit_tiny.onnx", "lstm_tiny.onnx", "resnet50_int8_tiny.onnx"}) {
    expect_some_of_each(damage(text_of(map_file(zoo_file(name))), 60, 120, read_onnx_text));
  }
}

TEST(DamagedOnnx, BodiesAtEveryByte) {
  expect_some_of_each(damage(text_of(map_file(zoo_file("loop_tiny.onnx"))), 10'000, 4000, read_onnx_text));
}

TEST(DamagedIr, SmallFileAtEveryByte) {
  const std::string xml = text_of(map_file(zoo_file("relu1.xml")));
  expect_some_of_each(damage(xml, 10'000, 2000, [](const std::string& text) { read_ir(text, {}); }));
}

TEST(DamagedIr, WholeNetworks) {
  for (const char* name : {"bert_tiny", "unet_tiny", "gru_step_tiny", "lstm_tiny"}) {
    const Tensor weights = map_file(zoo_file(std::string(name) + ".bin"));
    const std::string xml = text_of(map_file(zoo_file(std::string(name) + ".xml")));
    expect_some_of_each(damage(xml, 60, 240, [&](const std::string& text) { read_ir(text, weights); }));
  }
}

TEST(DamagedIr, Bodies) {
  const Tensor weights = map_file(zoo_file("loop_tiny.bin"));
  const std::string xml = text_of(map_file(zoo_file("loop_tiny.xml")));
  expect_some_of_each(damage(xml, 1000, 4000, [&](const std::string& text) { read_ir(text, weights); }));
}

/// A branch within a branch, `levels` deep.
std::string nested_branches(int levels) {
  std::string body =
      "<layers><layer id=\"0\" name=\"c\" type=\"Parameter\" version=\"opset1\"><data shape=\"\" "
      "element_type=\"boolean\"/><output><port id=\"0\"/></output></layer><layer id=\"1\" name=\"o\" "
      "type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer></layers><edges><edge "
      "from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/></edges>";
  const std::string map =
      "<input external_port_id=\"0\" internal_layer_id=\"0\"/><output external_port_id=\"1\" "
      "internal_layer_id=\"";
  for (int level = 0; level < levels; ++level) {
    const std::string result = level == 0 ? "1" : "2";
    body =
        "<layers><layer id=\"0\" name=\"c\" type=\"Parameter\" version=\"opset1\"><data shape=\"\" "
        "element_type=\"boolean\"/><output><port id=\"0\"/></output></layer><layer id=\"1\" name=\"if\" "
        "type=\"If\" version=\"opset8\"><then_port_map>" +
        map + result + "\"/></then_port_map><else_port_map>" + map + result +
        "\"/></else_port_map><input><port id=\"0\"/></input><output><port id=\"1\"/></output>"
        "<then_body>" +
        body + "</then_body><else_body>" + body +
        "</else_body></layer><layer id=\"2\" name=\"o\" "
        "type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer></layers><edges><edge "
        "from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/><edge from-layer=\"1\" from-port=\"1\" "
        "to-layer=\"2\" to-port=\"0\"/></edges>";
  }
  return "<net name=\"m\" version=\"11\">" + body + "</net>";
}

TEST(DamagedIr, BodiesAreNestedOnlySoDeep) {
  EXPECT_NO_THROW(read_ir(nested_branches(3), {}));
  try {
    read_ir(nested_branches(static_cast<int>(model_limits().depth) + 2), {});
    ADD_FAILURE() << "bodies at any depth were taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nested deeper"), std::string::npos) << error.what();
  }
}

TEST(DamagedIr, PortMapsNameWhatIsThere) {
  const std::string good = nested_branches(1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {with("internal_layer_id=\"0\"", "internal_layer_id=\"7\""),
        with("internal_layer_id=\"0\"", "internal_layer_id=\"1\""),
        with("external_port_id=\"0\"", "external_port_id=\"5\""),
        with("external_port_id=\"0\"", "external_port_id=\"-9\""), with("<else_body>", "<body>"),
        with("then_port_map><else", "then_port_map><x/><else_port_map/><else"),
        with("<input external_port_id=\"0\" internal_layer_id=\"0\"/>", "")}) {
    EXPECT_THROW(read_ir(text, {}), Error) << text;
  }
}

TEST(DamagedIr, TruncatedWeights) {
  const std::string xml = text_of(map_file(zoo_file("unet_tiny.xml")));
  const Tensor weights = map_file(zoo_file("unet_tiny.bin"));
  for (std::size_t length : {std::size_t{0}, std::size_t{1}, weights.size_bytes() / 2, weights.size_bytes() - 1}) {
    const Tensor cut = weights.slice(Shape{0}, Shape{length});
    try {
      read_ir(xml, cut);
      ADD_FAILURE() << "weights of " << length << " bytes were taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDataLoss);
    }
  }
}

// Each level is a length-delimited field inside the previous: attribute within node within graph within attribute...
TEST(DamagedOnnx, DeepNesting) {
  std::string graph;
  for (int level = 0; level < 20'000; ++level) {
    const auto wrap = [](char tag, const std::string& body) {
      std::string out(1, tag);
      std::size_t size = body.size();
      do {
        out += static_cast<char>((size & 0x7F) | (size > 0x7F ? 0x80 : 0));
        size >>= 7;
      } while (size > 0);
      return out + body;
    };
    graph = wrap(0x0A, wrap(0x2A, wrap(0x32, graph)));  // graph.node, node.attribute, attribute.g
    if (graph.size() > 200'000) break;
  }
  std::string model = "\x08\x08\x3A";
  std::size_t size = graph.size();
  do {
    model += static_cast<char>((size & 0x7F) | (size > 0x7F ? 0x80 : 0));
    size >>= 7;
  } while (size > 0);
  EXPECT_THROW(read_onnx_text(model + graph), Error);
}

TEST(DamagedIr, DeepNesting) {
  std::string xml = "<net name=\"m\" version=\"11\">";
  for (int i = 0; i < 100'000; ++i) xml += "<layers>";
  EXPECT_THROW(read_ir(xml, {}), Error);
  std::string closed = "<net name=\"m\" version=\"11\"><rt_info>";
  for (int i = 0; i < 50'000; ++i) closed += "<a>";
  for (int i = 0; i < 50'000; ++i) closed += "</a>";
  EXPECT_THROW(read_ir(closed + "</rt_info></net>", {}), Error);
}

/// While it lives, an allocation that would take the process past what it has and 256 MiB fails, on Linux; sanitizers reserve more.
class NoMoreMemory {
 public:
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  NoMoreMemory() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    rlimit bound = before_;
    bound.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (std::uint64_t{256} << 20);
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &bound), 0);
  }
  ~NoMoreMemory() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
#else
  NoMoreMemory() = default;
  ~NoMoreMemory() {}
#endif
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;
};

TEST(DamagedOnnx, HugeShapesAllocateNothing) {
  const auto field = [](char tag, const std::string& body) {  // Shorter than 128 bytes.
    return std::string{tag, static_cast<char>(body.size())} + body;
  };
  const NoMoreMemory bound;
  for (const int shift : {30, 35, 40}) {  // A weight of so many floats, of which none is there.
    std::string extent;
    for (std::uint64_t left = std::uint64_t{1} << shift; left != 0; left >>= 7)
      extent += static_cast<char>((left & 0x7F) | (left > 0x7F ? 0x80 : 0));
    const std::string weight = "\x08" + extent + "\x10\x01" + field(0x42, "w");  // dims, data_type, name
    const std::string node = field(0x0A, "w") + field(0x12, "y") + field(0x22, "Identity");
    const std::string graph =
        field(0x0A, node) + field(0x12, "g") + field(0x2A, weight) + field(0x62, field(0x0A, "y"));
    const std::string model = "\x08\x08" + field(0x3A, graph) + field(0x42, std::string("\x0A\x00\x10\x11", 4));
    EXPECT_THROW(read_onnx_text(model), Error) << "2^" << shift;
  }
}

// Shapes that claim more data than exists must not cause allocations.
TEST(DamagedIr, HugeShapesAllocateNothing) {
  const auto xml = [](const std::string& shape, const std::string& layers, const std::string& edges) {
    return "<net name=\"m\" version=\"11\"><layers>"
           "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"" +
           shape + "\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>" + layers + "</layers><edges>" +
           edges + "</edges></net>";
  };
  const std::string relu =
      "<layer id=\"1\" name=\"r\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\"/></input><output><port "
      "id=\"1\"/></output></layer><layer id=\"2\" name=\"o\" type=\"Result\" version=\"opset1\"><input><port "
      "id=\"0\"/></input></layer>";
  const std::string edges =
      "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/><edge from-layer=\"1\" "
      "from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>";
  for (const char* shape : {"4611686018427387904,4611686018427387904", "9223372036854775806", "1,2147483648,2147483648",
                            "0,9223372036854775806"}) {
    Tally tally;
    attempt([&] { read_ir(xml(shape, relu, edges), {}); }, tally);
  }
  EXPECT_THROW(read_ir(xml("99999999999999999999", relu, edges), {}), Error);
  const NoMoreMemory bound;
  for (const char* shape : {"1073741824", "1024,1024,1024,8", "1,1099511627776"})
    EXPECT_NO_THROW(read_ir(xml(shape, relu, edges), {})) << shape;
}

}  // namespace readers_corruption_test
}  // namespace tenon
