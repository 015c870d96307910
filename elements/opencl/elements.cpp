// SPDX-License-Identifier: Apache-2.0
// The transform "convert_cl": crop, scale and format by one OpenCL kernel over buffers.
#include <tenon/elements/opencl/elements.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/elements/opencl/components.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace opencl {
namespace {

namespace cl = tenon::opencl;
namespace client = tenon::opencl::client;

/// Each work item makes the pixels that share a chroma sample. S0_STEP and similar names are defined when the kernel is built.
/// If the result is smaller than the source, each pixel is the mean of samples from the area that it covers.
constexpr const char* kKernel = R"(
#define PLANE global const uchar* 
float sample(PLANE plane, uint2 at, int step, int offset, int2 shift, int4 part, float2 place) {
  const float2 p = place / (float2)(1 << shift.x, 1 << shift.y) - 0.5f;
  const float2 base = floor(p), share = p - base;
  const int x0 = part.x >> shift.x, x1 = (part.x + part.z - 1) >> shift.x;
  const int y0 = part.y >> shift.y, y1 = (part.y + part.w - 1) >> shift.y;
  const int left = clamp((int)base.x, x0, x1), right = clamp((int)base.x + 1, x0, x1);
  const int up = clamp((int)base.y, y0, y1), down = clamp((int)base.y + 1, y0, y1);
  PLANE upper = plane + at.x + (ulong)up * at.y + offset;
  PLANE lower = plane + at.x + (ulong)down * at.y + offset;
  const float a = mix((float)upper[left * step], (float)upper[right * step], share.x);
  const float b = mix((float)lower[left * step], (float)lower[right * step], share.x);
  return mix(a, b, share.y);
}
#define SAMPLE(c) sample(s##c, s##c##_at, S##c##_STEP, S##c##_OFFSET, (int2)(S##c##_SX, S##c##_SY), part, place)
void put(global uchar* plane, uint2 at, int step, int offset, int x, int y, float value) {
  plane[at.x + (ulong)y * at.y + x * step + offset] = convert_uchar_sat_rte(value);
}
kernel void change(PLANE s0, PLANE s1, PLANE s2, uint2 s0_at, uint2 s1_at, uint2 s2_at, global uchar* d0, global uchar* d1,
                   global uchar* d2, uint2 d0_at, uint2 d1_at, uint2 d2_at, int4 part, int2 size, float4 m0, float4 m1,
                   float4 m2) {
  const float2 scale = (float2)((float)part.z / size.x, (float)part.w / size.y);
  const int2 taps = clamp(convert_int2_rtp(scale), 1, 16);
  float u = 0, v = 0;
  int count = 0;
  for (int j = 0; j < CELL_Y; ++j) {
    for (int i = 0; i < CELL_X; ++i) {
      const int x = get_global_id(0) * CELL_X + i, y = get_global_id(1) * CELL_Y + j;
      if (x >= size.x || y >= size.y) continue;
      float4 in = 0;
      for (int ty = 0; ty < taps.y; ++ty) {
        for (int tx = 0; tx < taps.x; ++tx) {
          const float2 place = (float2)(part.x, part.y) +
                               ((float2)(x, y) + (float2)((tx + 0.5f) / taps.x, (ty + 0.5f) / taps.y)) * scale;
          in.x += SAMPLE(0);
#ifdef S_THREE
          in.y += SAMPLE(1);
          in.z += SAMPLE(2);
#endif
        }
      }
      in /= taps.x * taps.y;
#ifndef S_THREE
      in.y = in.z = 128;
#endif
      in.w = 1;
      put(d0, d0_at, D0_STEP, D0_OFFSET, x, y, dot(in, m0));
      u += dot(in, m1);
      v += dot(in, m2);
      ++count;
#ifdef D_ALPHA
      put(d0, d0_at, D0_STEP, 3, x, y, 255);
#endif
    }
  }
#ifdef D_THREE
  if (count == 0) return;
  put(d1, d1_at, D1_STEP, D1_OFFSET, get_global_id(0), get_global_id(1), u / count);
  put(d2, d2_at, D2_STEP, D2_OFFSET, get_global_id(0), get_global_id(1), v / count);
#endif
}
)";

std::string define(const std::string& name, std::size_t value) { return " -D " + name + "=" + std::to_string(value); }

/// The build options of the kernel for these formats.
std::string options_for(const std::vector<Component>& from, const std::vector<Component>& to, PixelFormat result) {
  std::string options;
  for (const auto& [letter, all] : {std::pair{'S', &from}, std::pair{'D', &to}}) {
    for (std::size_t i = 0; i < all->size(); ++i) {
      const std::string name = letter + std::to_string(i);
      options += define(name + "_STEP", (*all)[i].step) + define(name + "_OFFSET", (*all)[i].offset) +
                 define(name + "_SX", (*all)[i].width_shift) + define(name + "_SY", (*all)[i].height_shift);
    }
    if (all->size() == 3) options += std::string(" -D ") + letter + "_THREE";
  }
  if (result == kRgba || result == kBgra || result == kRgbx || result == kBgrx) options += " -D D_ALPHA";
  const Component& coarse = to.back();
  return options + define("CELL_X", std::size_t{1} << coarse.width_shift) +
         define("CELL_Y", std::size_t{1} << coarse.height_shift);
}

Context context_named(const std::string& device, const std::string& owner) {
  std::string names;
  for (const Context& one : cl::contexts()) {
    if (one->kind() != cl::kBufferMemory) continue;
    if (one->name().find(device) != std::string_view::npos) return one;
    names += (names.empty() ? "" : ", ") + std::string(one->name());
  }
  throw Error(Code::kUnavailable,
              owner + ": " +
                  (names.empty() ? "there is no OpenCL device; clinfo tells why"
                                 : "no OpenCL device is called '" + device + "'; there are: " + names) +
                  ". Convert by=cpu instead");
}

class ClConverter final : public Transform {
 public:
  ClConverter(const Parameters& given, const Environment& environment)
      : params_(given),
        ledger_(environment.ledger ? *environment.ledger : Ledger::process()),
        context_(context_named(given.text("device"), given.owner())),
        stream_(cl::stream(context_)),
        results_(context_) {
    for (const Context& one : {context_, dmabuf::context(), host_context()}) router_.add(one);
  }

  Requirements wanted(const StreamInfo&) const override { return context_->requirements(); }
  Context used_in(const StreamInfo&) const override { return context_; }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return params_.stream_of(in); }
  void allocate(std::uint32_t, const Requirements& wanted, std::span<const Party> readers) override {
    results_.allocate(Wanted(wanted, readers));
  }

  void process(Item item, Output& output) override {
    const FrameInfo in = item.frame.info();
    const VideoConvertParams::Part part = params_.part_of(in);
    const FrameInfo out = params_.result_of(in);
    prepare(in, out);
    Frame result = results_.acquire(out);
    const Frame from = on_device(item.frame, Access::kRead), to = on_device(result, Access::kReadWrite);
    run(from, part, to);
    VideoConvertParams::carry(item.frame, part, result);
    output.emit({item.stream, std::move(result)});
  }
  void interrupt() noexcept override { results_.interrupt(); }

 private:
  Frame on_device(const Frame& frame, Access access) {
    router_.add(frame.plane(0).context());
    MapOptions options;
    options.access = access;
    options.ledger = &ledger_;
    options.stream = stream_.get();
    // The result must be written in place.
    if (access == Access::kReadWrite) options.policy = ZeroCopy::kRequire;
    return router_.map(frame, context_, options);
  }

  /// Builds the kernel for these formats, unless it is built already.
  void prepare(const FrameInfo& in, const FrameInfo& out) {
    if (kernel_ && in.format == from_.format && out.format == to_.format) return;
    source_components_ = components_of(in.format);
    result_components_ = components_of(out.format);
    const char* text = kKernel;
    const auto what = [&] { return "converting " + to_string(in.format) + " to " + to_string(out.format); };
    client::Handle<cl_program> program(client::create("clCreateProgramWithSource", what, clCreateProgramWithSource,
                                                      cl::handle(context_), cl_uint{1}, &text,
                                                      static_cast<const std::size_t*>(nullptr)));
    const std::string options = options_for(source_components_, result_components_, out.format);
    const cl_device_id device = cl::device(context_).id;
    client::check(client::call(clBuildProgram, program.get(), cl_uint{1}, &device, options.c_str(), nullptr, nullptr),
                  "clBuildProgram", what);
    kernel_ =
        client::Handle<cl_kernel>(client::create("clCreateKernel", what, clCreateKernel, program.get(), "change"));
    from_ = in;
    to_ = out;
  }

  template <typename T>
  void argument(const T& value) {
    client::check(clSetKernelArg(kernel_.get(), next_argument_++, sizeof value, &value), "clSetKernelArg",
                  "converting a picture");
  }
  void planes_of(const Frame& frame, const std::vector<Component>& components) {
    std::array<cl_uint2, 3> places{};
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor& plane = frame.plane(components[std::min(i, components.size() - 1)].plane);
      places[i] = {{static_cast<cl_uint>(plane.offset()), static_cast<cl_uint>(plane.byte_strides()[0])}};
      argument(cl::buffer(plane));
    }
    for (const cl_uint2& place : places) argument(place);
  }

  void run(const Frame& from, const VideoConvertParams::Part& part, const Frame& to) {
    next_argument_ = 0;
    planes_of(from, source_components_);
    planes_of(to, result_components_);
    argument(cl_int4{{static_cast<cl_int>(part.x), static_cast<cl_int>(part.y), static_cast<cl_int>(part.width),
                      static_cast<cl_int>(part.height)}});
    argument(cl_int2{{static_cast<cl_int>(to.info().width_px), static_cast<cl_int>(to.info().height_px)}});
    const ColourMatrix colours = colours_between(from.info(), to.info());
    for (std::size_t row = 0; row < 3; ++row)
      argument(cl_float4{{colours[row * 4], colours[row * 4 + 1], colours[row * 4 + 2], colours[row * 4 + 3]}});
    const Component& coarse = result_components_.back();
    const std::size_t cells[2] = {((to.info().width_px - 1) >> coarse.width_shift) + 1,
                                  ((to.info().height_px - 1) >> coarse.height_shift) + 1};
    cl_event event = nullptr;
    client::check(client::call(clEnqueueNDRangeKernel, cl::queue(context_), kernel_.get(), cl_uint{2}, nullptr, cells,
                               nullptr, cl_uint{0}, nullptr, &event),
                  "clEnqueueNDRangeKernel", "converting a picture");
    client::Handle<cl_event> done(event);
    for (const Tensor& plane : from.planes()) cl::reads(plane, done.get());
    for (const Tensor& plane : to.planes()) cl::wrote(plane, done.get());
    static const EdgeId edge = register_edge("opencl (converted)");
    ledger_.book_map(edge, false);
    ledger_.book_converted(edge, from.size_bytes());
    // Readers on the host take the result's address without waiting, so the kernel must have finished.
    client::finish(std::move(done), default_deadline());
  }

  const VideoConvertParams params_;
  Ledger& ledger_;
  const Context context_;
  const Ref<Stream> stream_;
  Router router_;
  OutputFrames results_;
  std::vector<Component> source_components_, result_components_;
  client::Handle<cl_kernel> kernel_;
  cl_uint next_argument_ = 0;
  FrameInfo from_, to_;
};

}  // namespace

std::vector<KnownElement> elements() {
  std::vector<Parameter> parameters = VideoConvertParams::parameters();
  parameters.push_back({"device", "Part of the OpenCL device's name; empty: the first device", std::string()});
  Description made{"convert_cl", "Crops, scales and converts pictures by OpenCL, into memory that all readers share",
                   Role::kTransform, std::move(parameters)};
  made.formats = known_formats();
  return {{std::move(made), [](const Parameters& given, const Environment& environment) -> AnyElement {
             return std::make_unique<ClConverter>(given, environment);
           }}};
}

}  // namespace opencl
}  // namespace elements
}  // namespace v1
}  // namespace tenon
