// SPDX-License-Identifier: Apache-2.0
// The alias tests of a run's hops.
#include <tenon/tools/tenon/proof/hop_proof.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/input_stage/spec.hpp>

#include <tenon/tools/tenon/proof/page_guard.hpp>

namespace tenon::tool {
namespace {

/// A reproducible byte that differs from row to row, plane to plane and seed to seed.
std::uint8_t pattern(unsigned seed, std::size_t plane, std::size_t row, std::size_t column) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ull + plane * 0xbf58476d1ce4e5b9ull + row * 0x94d049bb133111ebull +
                    column * 0xd6e8feb86659fd93ull;
  x ^= x >> 31;
  return static_cast<std::uint8_t>((x * 0xff51afd7ed558ccdull) >> 56);
}

/// Rows of all planes, from a base address per plane.
struct Rows {
  std::byte* base[4] = {};
  std::ptrdiff_t pitch[4] = {};
};

void write_pattern(const FrameInfo& info, const Rows& rows, unsigned seed) {
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
    const PlaneExtent extent = plane_extent(info, p);
    for (std::size_t y = 0; y < extent.height_px; ++y) {
      auto* row = reinterpret_cast<std::uint8_t*>(rows.base[p] + rows.pitch[p] * static_cast<std::ptrdiff_t>(y));
      for (std::size_t x = 0; x < extent.row_bytes; ++x) row[x] = pattern(seed, p, y, x);
    }
  }
}

bool holds_pattern(const FrameInfo& info, const Rows& rows, unsigned seed) {
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
    const PlaneExtent extent = plane_extent(info, p);
    for (std::size_t y = 0; y < extent.height_px; ++y) {
      const auto* row =
          reinterpret_cast<const std::uint8_t*>(rows.base[p] + rows.pitch[p] * static_cast<std::ptrdiff_t>(y));
      for (std::size_t x = 0; x < extent.row_bytes; ++x) {
        if (row[x] != pattern(seed, p, y, x)) return false;
      }
    }
  }
  return true;
}

/// The picture as FFmpeg sees it: through AVFrame.data, in Tenon's order of planes.
Rows decoder_rows(const Frame& frame, const AVFrame& picture) {
  const ffmpeg::FormatMapping* mapping = ffmpeg::find_mapping(frame.info().format);
  Rows rows;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    rows.base[p] = reinterpret_cast<std::byte*>(picture.data[mapping->planes[p]]);
    rows.pitch[p] = picture.linesize[mapping->planes[p]];
  }
  return rows;
}

/// A second mapping of the memory's descriptor.
class SecondMapping {
 public:
  explicit SecondMapping(const Memory& memory) : size_(memory.size_bytes()) {
    address_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.borrow_fd(), 0);
    if (address_ == MAP_FAILED)
      throw Error(Code::kUnavailable, "the descriptor cannot be mapped a second time", "mmap", errno);
  }
  ~SecondMapping() { ::munmap(address_, size_); }
  SecondMapping(const SecondMapping&) = delete;
  SecondMapping& operator=(const SecondMapping&) = delete;
  std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(address_) + offset; }

 private:
  void* address_;
  std::size_t size_;
};

/// All values of the outputs and the states: a model's states may be the first to depend on a picture.
std::vector<float> outputs_of(InferRequest& request, CompiledModel& compiled) {
  std::vector<float> all;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.element_type() != ElementType::kF32 || !tensor.is_contiguous()) return;
    const auto* values = static_cast<const float*>(tensor.data());
    all.insert(all.end(), values, values + tensor.element_count());
  };
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) add(request.get_output_tensor(i));
  for (VariableState& state : request.query_state()) add(state.get_state());
  return all;
}

/// Largest difference relative to the largest value.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(b[i])));
    difference = std::max(difference, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

template <typename Test>
HopProof guarded(Test&& test) {
  try {
    return test();
  } catch (const std::exception& error) {
    return {Proof::kRefused, std::string("the test failed: ") + error.what()};
  }
}

/// A device's module, a Level Zero driver, which computes for a device, or a kernel of a device's.
bool is_device_code(const std::string& reader) {
  return reader.find("libtenon_device_") != std::string::npos || reader.find("libze_") != std::string::npos ||
         reader.starts_with(PageGuard::kKernel);
}

/// The outputs for the pixels in `frame`, by the reference kernel into a tensor of its own.
std::vector<float> expected_outputs(const Frame& frame, CompiledModel& compiled, const InputStageSpec& spec) {
  InferRequest request = compiled.create_infer_request();
  const Tensor input = request.get_input_tensor();
  const auto views = plane_views(spec, frame.planes());
  const Tensor written(spec.type, spec.target_shape());
  run_input_stage_reference(spec, std::span(views).first(frame.plane_count()), written.data());
  ByteStrides strides = input.byte_strides();
  if (spec.transposed) std::swap(strides[spec.planar ? 2 : 1], strides[spec.planar ? 3 : 2]);
  copy_strided(spec.type, spec.target_shape(), written.data(), written.byte_strides(), input.data(), strides);
  request.infer();
  return outputs_of(request, compiled);
}

}  // namespace

HopProof prove_decoder_to_pool(const Frame& frame) {
  return guarded([&]() -> HopProof {
    const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
    const Rows decoder = decoder_rows(frame, *picture);
    const Memory& memory = *frame.plane(0).memory();
    if (memory.borrow_fd() < 0) return {Proof::kClaimed, "the buffer has no descriptor to map a second time"};
    const SecondMapping mapping(memory);
    Rows pool;
    for (std::size_t p = 0; p < frame.plane_count(); ++p) {
      if (frame.plane(p).memory().get() != &memory) return {Proof::kClaimed, "the planes lie in several buffers"};
      pool.base[p] = mapping.at(frame.plane(p).offset());
      pool.pitch[p] = frame.plane(p).byte_strides()[0];
    }
    for (unsigned round = 1; round <= 2; ++round) {
      write_pattern(frame.info(), decoder, 2 * round);
      if (!holds_pattern(frame.info(), pool, 2 * round))
        return {Proof::kCopies, "what was written through AVFrame.data is not in the pool's memory"};
      write_pattern(frame.info(), pool, 2 * round + 1);
      if (!holds_pattern(frame.info(), decoder, 2 * round + 1))
        return {Proof::kCopies, "what was written into the pool's memory is not in AVFrame.data"};
    }
    return {Proof::kProved,
            "written through AVFrame.data, read through a second mapping of the pool's descriptor, and back; every "
            "byte, twice"};
  });
}

HopProof prove_pool_to_stage(const Frame& frame, CompiledModel& compiled, const std::string& device) {
  return guarded([&]() -> HopProof {
    const Memory& memory = *frame.plane(0).memory();
    if (memory.borrow_fd() < 0 || !PageGuard::supported())
      return {Proof::kClaimed, "the buffer's pages cannot be locked here"};
    InferRequest request = compiled.create_infer_request();
    request.set_frame(frame);
    request.infer();  // Does now what is done only once.
    PageGuard guard(PageGuard::mappings_of(memory));
    request.infer();
    const PageGuard::Findings found = guard.release();
    if (found.pages == 0)
      return {Proof::kCopies, "nothing read the decoder's buffer during an inference: it works on a copy"};
    for (const std::string& reader : found.readers) {
      if (reader == PageGuard::kGenerated)
        return {Proof::kClaimed, "read by code that a runtime generated: a kernel, or the runtime's own copy"};
      if (!is_device_code(reader)) {
        return {Proof::kCopies, "the decoder's buffer was read by " + reader + ", not by the module of " + device};
      }
    }
    return {Proof::kProved,
            fmt::format("pages locked during an inference: all {} that were read were read by {}, in place",
                        found.pages, found.readers.empty() ? "" : found.readers.front())};
  });
}

HopProof prove_stage_to_model(const Frame& frame, CompiledModel& compiled, const Model& model) {
  return guarded([&]() -> HopProof {
    const InputStageSpec spec = make_spec(options_from(model, frame.info()));
    const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
    const Rows decoder = decoder_rows(frame, *picture);
    InferRequest request = compiled.create_infer_request();
    request.set_frame(frame);
    std::vector<float> seen[2];
    double worst = 0;
    for (unsigned round = 0; round < 2; ++round) {
      // After set_frame(), since a copy made there would not have these bytes.
      write_pattern(frame.info(), decoder, 10 + round);
      request.reset_state();  // As for the reference, which starts from the initial state each time.
      request.infer();
      seen[round] = outputs_of(request, compiled);
      worst = std::max(worst, distance(seen[round], expected_outputs(frame, compiled, spec)));
    }
    if (seen[0].empty()) return {Proof::kClaimed, "the model has no f32 output to compare"};
    const double change = distance(seen[0], seen[1]);
    if (change == 0) return {Proof::kCopies, "the outputs did not change with the decoder's buffer"};
    if (worst > 0.02 || worst * 4 > change) {
      return {Proof::kCopies,
              fmt::format("outputs differ from the reference by {:.2g} of their range; two patterns differ by {:.2g}",
                          worst, change)};
    }
    return {Proof::kProved,
            fmt::format(
                "two patterns written into the decoder's buffer after set_frame() reach the outputs as the reference "
                "says (difference {:.1g} of the range)",
                worst)};
  });
}

}  // namespace tenon::tool
