// SPDX-License-Identifier: Apache-2.0
// What a hostile model, hostile values or a damaged file may ask of the GPU device: clear errors, nothing written beside
// tensors, and the device works afterwards.
#include <sys/mman.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/hostile_models.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::gpu_testing {
namespace gpu_limits_test {

using op::v0::Constant;
using op::v0::Parameter;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class GpuLimits : public Gpu {
 protected:
  ~GpuLimits() override { set_model_limits(before_); }
  const ModelLimits before_ = model_limits();
};

std::shared_ptr<Parameter> parameter(const Shape& shape, element::Type type = element::f32) {
  return std::make_shared<Parameter>(type, PartialShape(shape));
}
std::shared_ptr<Constant> integers(const Shape& shape, const std::vector<std::int64_t>& values) {
  return std::make_shared<Constant>(element::i64, shape, values);
}

TEST_F(GpuLimits, ALoopThatDoublesItsTensorEndsAtTheMemoryAllowed) {
  core.set_property(limit::bytes(std::uint64_t{64} << 20));
  auto compiled = core.compile_model(loop_model(doubled, true), "GPU");
  auto request = request_of(compiled, 20);
  const Error error = error_of([&] { request.infer(); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_BYTES"));
  auto endless = request_of(compiled, 60);
  EXPECT_THAT(error_of([&] { endless.infer(); }).what(), HasSubstr("exceeds what memory can hold"));
  // The request still accepts what fits, repeatedly: used memory is returned.
  auto fits = request_of(compiled, 8);
  for (int i = 0; i < 5; ++i) {
    fits.infer();
    EXPECT_EQ(fits.get_output_tensor(0).get_size(), std::size_t{1024} << 8);
  }
}

TEST_F(GpuLimits, WhatLiesBetweenTheKernelsCounts) {
  const auto x = parameter(Shape{1 << 20});
  const auto wide = std::make_shared<op::v0::Concat>(OutputVector{x, x, x, x}, 0);
  const auto sum = make_node("ReduceSum", 1, {make_node("CumSum", 0, {wide, integers({}, {0})}), integers({1}, {0})},
                             {{"keep_dims", true}});
  const auto model = std::make_shared<Model>(OutputVector{sum->output(0)}, ParameterVector{x}, "wide");
  EXPECT_NO_THROW(core.compile_model(model, "GPU"));
  core.set_property(limit::bytes(std::uint64_t{8} << 20));
  const Error error = error_of([&] { core.compile_model(model, "GPU"); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("'wide'"), HasSubstr("bytes for the values between its kernels"),
                                  HasSubstr("TENON_LIMIT_BYTES is 8388608")));
}

TEST_F(GpuLimits, AnEndlessLoopEndsInTime) {
  core.set_property(limit::infer_seconds(1));
  for (const bool is_open : {false, true}) {
    const auto model =
        loop_model([](const Output<Node>& x) { return std::make_shared<op::v0::Tanh>(x)->output(0); }, is_open);
    auto compiled = core.compile_model(model, "GPU");
    auto request = request_of(compiled, -1);
    const auto begin = std::chrono::steady_clock::now();
    const Error error = error_of([&] { request.infer(); });
    EXPECT_TRUE(error.code() == Code::kDeadlineExceeded || error.code() == Code::kUnimplemented ||
                error.code() == Code::kResourceExhausted)
        << error.what();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
    bool works = false;
    for (int i = 0; i < 5 && !works; ++i) {  // On a busy machine three turns, too, may take a second.
      auto next = request_of(compiled, 3);
      try {
        next.infer();
        works = true;
      } catch (const Error& late) {
        EXPECT_EQ(late.code(), Code::kDeadlineExceeded) << late.what();
      }
    }
    EXPECT_TRUE(works);
  }
}

TEST_F(GpuLimits, CompilingEndsInTime) {
  core.set_property(limit::compile_seconds(1));
  const auto x = parameter(Shape{8});
  Output<Node> y = x;
  // Folding all of these with the reference kernel takes seconds, and one takes little in a build without optimisation.
  const auto matrix = [](double value) {
    return Constant::create(element::f32, Shape{256, 256}, std::vector<double>{value});
  };
  Output<Node> product = matrix(0.5);
  for (int i = 0; i < 4000; ++i) product = std::make_shared<op::v0::MatMul>(product, matrix(0.1))->output(0);
  const auto first = make_node("Gather", 8, {product, integers({8}, {0, 0, 0, 0, 0, 0, 0, 0}), integers({}, {0})},
                               {{"batch_dims", std::int64_t{0}}});
  const auto model = std::make_shared<Model>(OutputVector{y, first->output(0)}, ParameterVector{x}, "slow");
  const auto began = std::chrono::steady_clock::now();
  const Error error = error_of([&] { core.compile_model(model, "GPU"); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("TENON_LIMIT_COMPILE_SECONDS"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15)) << "all of it was folded before";
}

/// Kernels count elements in ints: what they could not reach is refused, not read elsewhere.
TEST_F(GpuLimits, TensorsOfMoreElementsThanKernelsCountAreRefusedByName) {
  constexpr std::size_t kWide = std::size_t{1} << 30;
  const auto slice = [](const Output<Node>& x) {
    return make_node("Slice", 8,
                     {x, integers({2}, {0, 0}), integers({2}, {4, 1}), integers({2}, {1, 1}), integers({2}, {0, 1})});
  };
  const auto refused = [&](const OutputVector& results, const ParameterVector& parameters) {
    const auto model = std::make_shared<Model>(results, parameters, "vast");
    return std::string(error_of([&] { core.compile_model(model, "GPU"); }).what());
  };
  const auto x = parameter(Shape{4, kWide}, element::u8);
  x->set_friendly_name("the bytes");
  EXPECT_THAT(refused({slice(x)->output(0)}, {x}), AllOf(HasSubstr("the bytes"), HasSubstr("2147483647 elements")));
  // A value between.
  const auto y = parameter(Shape{4, 1}, element::u8);
  const auto tile = make_node("Tile", 0, {y, integers({2}, {1, static_cast<std::int64_t>(kWide)})}, {}, "the tile");
  EXPECT_THAT(refused({slice(tile)->output(0)}, {y}), AllOf(HasSubstr("the tile"), HasSubstr("2147483647 elements")));
}

/// The same of a tensor whose rows lie far apart: it is packed first.
TEST_F(GpuLimits, RowsThatLieFurtherApartThanKernelsCountAreReadRight) {
  constexpr std::size_t kRows = 4, kPitch = std::size_t{1} << 30, kBytes = kRows * kPitch;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (const Shape& shape : {Shape{1, kRows, 4, 1}, Shape{kRows, 4}}) {
    const auto x = parameter(shape, element::u8);
    const auto sum = make_node("Add", 1, {x, Constant::create(element::u8, Shape{}, {1})});
    auto request = core.compile_model(std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}), "GPU")
                       .create_infer_request();
    for (std::size_t row = 0; row < kRows; ++row)
      std::memset(static_cast<char*>(memory) + row * kPitch, static_cast<int>(row) * 10, 4);
    ByteStrides strides(shape.size(), 1);
    strides[shape.size() == 2 ? 0 : 1] = kPitch;
    if (shape.size() == 4) strides[0] = static_cast<std::ptrdiff_t>(kBytes);
    request.set_input_tensor(Tensor(element::u8, shape, memory, strides));
    request.infer();
    const auto* values = request.get_output_tensor().data<std::uint8_t>();
    for (std::size_t i = 0; i < kRows * 4; ++i) ASSERT_EQ(values[i], i / 4 * 10 + 1) << i;
  }
  ::munmap(memory, kBytes);
}

/// Runs a node whose integers are all `value`; what it computes counts for nothing, but no byte beside its output may change.
void run_with(Core& core, const std::shared_ptr<Node>& node, const ParameterVector& parameters, double value) {
  const auto model = std::make_shared<Model>(OutputVector{node->output(0)}, parameters);
  auto compiled = core.compile_model(model, "GPU");
  auto request = compiled.create_infer_request();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor tensor = request.get_input_tensor(i);
    const bool is_real = info(tensor.element_type()).is_real;
    const Tensor values =
        Constant::create(tensor.element_type(), tensor.shape(), std::vector<double>{is_real ? 1.0 : value})
            ->get_tensor();
    Tensor own(tensor.element_type(), tensor.shape());
    values.copy_to(own);
    request.set_input_tensor(i, own);
  }
  constexpr std::size_t kBeside = 4096;
  const bool is_known = node->get_output_partial_shape(0).is_static();
  std::unique_ptr<std::byte, decltype(&std::free)> memory(nullptr, &std::free);
  std::size_t size = 0;
  if (is_known) {
    const Tensor out = request.get_output_tensor();
    size = out.size_bytes();
    // Whole pages, which the device takes in place.
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kBeside, (size / kBeside + 3) * kBeside)));
    std::memset(memory.get(), 0x5a, size + 2 * kBeside);
    request.set_output_tensor(Tensor(out.element_type(), out.shape(), memory.get() + kBeside));
  }
  try {
    request.infer();
  } catch (const Error&) {  // A device may also refuse such values.
  }
  for (std::size_t i = 0; memory && i < size + 2 * kBeside; ++i) {
    if (i == kBeside) i += size;
    ASSERT_EQ(memory.get()[i], std::byte{0x5a}) << node->get_type_name() << " with " << value << ", byte " << i;
  }
}

TEST_F(GpuLimits, IndicesOutsideReadAndWriteNothing) {
  const auto axis = [](std::int64_t at) { return integers({}, {at}); };
  const Attributes none;
  using Make = std::function<void(element::Type, double)>;
  const std::vector<Make> makes = {
      [&](element::Type type, double value) {
        const auto x = parameter({3, 4}), i = parameter({5}, type);
        run_with(core, make_node("Gather", 8, {x, i, axis(0)}, {{"batch_dims", std::int64_t{0}}}), {x, i}, value);
        run_with(core, make_node("Gather", 8, {x, i, axis(1)}, {{"batch_dims", std::int64_t{0}}}), {x, i}, value);
      },
      [&](element::Type type, double value) {
        const auto x = parameter({3, 4}), i = parameter({3, 2}, type);
        run_with(core, make_node("GatherElements", 6, {x, i}, {{"axis", std::int64_t{1}}}), {x, i}, value);
        run_with(core, make_node("GatherND", 8, {x, i}, {{"batch_dims", std::int64_t{0}}}), {x, i}, value);
      },
      [&](element::Type type, double value) {
        const auto x = parameter({3, 4}), i = parameter({2}, type), u = parameter({2, 4});
        run_with(core, make_node("ScatterUpdate", 3, {x, i, u, axis(0)}), {x, i, u}, value);
      },
      [&](element::Type type, double value) {
        const auto x = parameter({3, 4}), i = parameter({3, 2}, type), u = parameter({3, 2}), n = parameter({3});
        for (const char* how : {"none", "sum", "mean"})
          run_with(
              core,
              make_node("ScatterElementsUpdate", 12, {x, i, u, axis(1)}, {{"reduction", how}, {"use_init_val", true}}),
              {x, i, u}, value);
        run_with(core, make_node("ScatterNDUpdate", 4, {x, i, n}), {x, i, n}, value);
      },
      [&](element::Type type, double value) {
        const auto x = parameter({6, 4}), i = parameter({5}, type), at = parameter({2}, type),
                   other = parameter({}, type);
        run_with(core, make_node("EmbeddingBagOffsetsSum", 3, {x, i, at, other}), {x, i, at, other}, value);
        const auto ids = parameter({5}, type), packed = parameter({2, 3}, type);
        run_with(core, make_node("EmbeddingSegmentsSum", 3, {x, i, ids, integers({}, {4}), other}), {x, i, ids, other},
                 value);
        run_with(core, make_node("EmbeddingBagPackedSum", 3, {x, packed}), {x, packed}, value);
      },
      [&](element::Type type, double value) {
        const auto x = parameter({3, 4, 2}), i = parameter({3}, type);
        run_with(
            core,
            make_node("ReverseSequence", 0, {x, i}, {{"batch_axis", std::int64_t{0}}, {"seq_axis", std::int64_t{1}}}),
            {x, i}, value);
        const auto depth = integers({}, {4});
        run_with(core,
                 make_node("OneHot", 1,
                           {i, depth, Constant::create(element::f32, Shape{}, {1}),
                            Constant::create(element::f32, Shape{}, {0})},
                           {{"axis", std::int64_t{-1}}}),
                 {i}, value);
      },
      [&](element::Type type, double value) {
        const auto x = parameter({1, 2, 4, 4}), boxes = parameter({3, 4}), i = parameter({3}, type);
        run_with(core,
                 make_node("ROIAlign", 9, {x, boxes, i},
                           {{"pooled_h", std::int64_t{2}},
                            {"pooled_w", std::int64_t{2}},
                            {"sampling_ratio", std::int64_t{2}},
                            {"spatial_scale", 1.0},
                            {"mode", "avg"},
                            {"aligned_mode", "asymmetric"}}),
                 {x, boxes, i}, value);
      },
  };
  for (const auto& make : makes)
    for (const auto type : {element::i32, element::i64})
      for (const double value : {-1e9, -5.0, 7.0, 1000.0, 2e9, 1e15})
        if (type == element::i64 || std::abs(value) < 2147483647.0) {
          make(type, value);
          if (HasFatalFailure()) return;
        }
}

/// 2^32 is not 0.
TEST_F(GpuLimits, IndicesOfMoreThan32BitsAreOutside) {
  const auto x = parameter({4}), i = parameter({4}, element::i64);
  const auto gather = make_node("Gather", 8, {x, i, integers({}, {0})}, {{"batch_dims", std::int64_t{0}}});
  auto request = core.compile_model(std::make_shared<Model>(OutputVector{gather}, ParameterVector{x, i}), "GPU")
                     .create_infer_request();
  std::fill_n(request.get_input_tensor(0).data<float>(), 4, 5.0f);
  const std::int64_t at[] = {std::int64_t{1} << 32, -(std::int64_t{1} << 32), 3, (std::int64_t{1} << 32) + 2};
  std::copy(std::begin(at), std::end(at), request.get_input_tensor(1).data<std::int64_t>());
  request.infer();
  const auto* values = request.get_output_tensor().data<float>();
  EXPECT_THAT(std::vector<float>(values, values + 4), ::testing::ElementsAre(0, 0, 5, 0));
}

TEST_F(GpuLimits, DeepGraphsAreCompiledOrRefused) {
  // A chain of thousands of nodes that join each other, and of views of views.
  const auto x = parameter({4, 4});
  Output<Node> y = x;
  for (int i = 0; i < 4000; ++i) {
    y = make_node("Negative", 0, {y})->output(0);
    if (i % 7 == 0) y = make_node("Transpose", 1, {y, integers({2}, {1, 0})})->output(0);
  }
  auto request =
      core.compile_model(std::make_shared<Model>(OutputVector{y}, ParameterVector{x}), "GPU").create_infer_request();
  std::fill_n(request.get_input_tensor().data<float>(), 16, 3.0f);
  request.infer();
  EXPECT_THAT(
      std::vector<float>(request.get_output_tensor().data<float>(), request.get_output_tensor().data<float>() + 16),
      Each(3.0f));
  // Loops in loops.
  std::function<std::shared_ptr<Model>(int)> nested = [&](int depth) {
    const auto state = parameter({4});
    const auto truth = [] {
      return std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1});
    };
    Output<Node> next = make_node("Tanh", 0, {state});
    if (depth > 0) {
      auto inner = std::make_shared<op::v5::Loop>(integers({}, {2}), truth());
      const auto body = nested(depth - 1);
      inner->set_function(body);
      inner->set_special_body_ports({-1, 0});
      inner->set_merged_input(body->get_parameters()[0], next, body->get_results()[1]->input_value(0));
      next = inner->get_iter_value(body->get_results()[1]->input_value(0));
    }
    return std::make_shared<Model>(OutputVector{truth()->output(0), next}, ParameterVector{state});
  };
  EXPECT_THAT(error_of([&] { nested(12); }).what(), HasSubstr("TENON_LIMIT_DEPTH"));
  EXPECT_NO_THROW(core.compile_model(nested(3), "GPU"));
  EXPECT_NO_THROW(core.compile_model(line_model(), "GPU"));
}

std::vector<float> answer(CompiledModel compiled) {
  auto request = compiled.create_infer_request();
  std::fill_n(request.get_tensor("x").data<float>(), kCount, 0.5f);
  request.infer();
  const float* values = request.get_tensor("y").data<float>();
  return {values, values + kCount};
}

TEST_F(GpuLimits, DamagedBlobsAreRefused) {
  std::ostringstream stream;
  core.compile_model(line_model(), "GPU").export_model(stream);
  const std::string whole = stream.str();
  const auto import = [&](const std::string& bytes) {
    std::istringstream from(bytes);
    return core.import_model(from, "GPU");
  };
  EXPECT_THAT(answer(import(whole)), Each(2.0f));
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 60)
    EXPECT_THROW(import(whole.substr(0, size)), Error) << "of " << size << " bytes";
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 200) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
    EXPECT_THROW(import(damaged), Error) << "byte " << at;
  }
}

/// Overwrites the files of a cache that end so, each in its own way. @return how many.
std::size_t damage(const std::filesystem::path& folder, const std::string& suffix, int how) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != suffix) continue;
    ++count;
    std::ifstream from(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(from), {}};
    from.close();
    if (how == 0) bytes.clear();
    if (how == 1) bytes.resize(bytes.size() / 2);
    if (how == 2) bytes[bytes.size() - 1 - bytes.size() / 3] ^= 0x40;
    if (how == 3) std::fill(bytes.begin(), bytes.end(), '\xff');
    std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << bytes;
  }
  return count;
}

TEST_F(GpuLimits, DamagedProgramsAreBuiltAnew) {
  using gpu_device::KernelLibrary;
  const TemporaryFolder folder;
  const KernelLibrary::Texts texts{std::make_shared<const gpu_device::KernelText>(
      gpu_device::KernelText{"test", "damaged", "__kernel void damaged(__global float* x) { x[0] = 7; }"})};
  const auto counts = [&] {
    KernelLibrary library(gpu_device::find_gpu("")->native_ref());  // As another process has it.
    const auto programs = library.build(texts, folder.path(), TimeLimit(0));
    EXPECT_TRUE(programs.at(0)->make(*texts[0])) << "the program has its kernel";
    return std::pair(library.counts().built, library.counts().loaded);
  };
  EXPECT_EQ(counts(), std::pair(std::size_t{1}, std::size_t{0}));
  EXPECT_EQ(counts(), std::pair(std::size_t{0}, std::size_t{1}));
  for (int how = 0; how < 4; ++how) {
    ASSERT_EQ(damage(folder.path(), ".cl_cache", how), 1u);
    EXPECT_EQ(counts(), std::pair(std::size_t{1}, std::size_t{0})) << how;
    EXPECT_EQ(counts(), std::pair(std::size_t{0}, std::size_t{1})) << "what was damaged has been replaced";
  }
}

}  // namespace gpu_limits_test
}  // namespace tenon::gpu_testing
