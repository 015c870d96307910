// SPDX-License-Identifier: Apache-2.0
// Frames over the planes of other packages' pictures.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/bindings/python/native/memory/frames.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/frame.hpp>

namespace tenon::python {
namespace {

Frame frame_of_planes(const std::string& format, std::uint32_t width, std::uint32_t height, nb::handle arrays,
                      std::optional<std::int64_t> time_ns) {
  FrameInfo info;
  info.format = format_from(format);
  info.width_px = width;
  info.height_px = height;
  std::vector<Tensor> planes;
  for (const nb::handle each : nb::iter(arrays)) planes.push_back(tensor_from(each, Sharing::kShare));
  Frame frame(info, std::move(planes));
  if (time_ns) frame.set_timestamp_ns(*time_ns);
  return frame;
}

}  // namespace

void add_frame_planes(nb::module_& module) {
  module.def("_frame_of_planes", &frame_of_planes, nb::arg("format"), nb::arg("width"), nb::arg("height"),
             nb::arg("planes"), nb::arg("time_ns").none());
}

}  // namespace tenon::python
