// SPDX-License-Identifier: Apache-2.0
// Uses an install tree: a tensor, a route, and a model on the CPU device.
#include <cstdio>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#ifdef TENON_CONSUMER_RUNTIME
#include <tenon/runtime/core.hpp>
#endif
#ifdef TENON_CONSUMER_FFMPEG
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#endif

int main(int argc, char** argv) {
  tenon::Router router;
  router.add(tenon::host_context());
  tenon::Tensor tensor(tenon::element::f32, {1, 3});
  if (!(router.map(tensor, tenon::host_context()).memory() == tensor.memory())) return 1;
#ifdef TENON_CONSUMER_RUNTIME
  if (argc < 2) return 2;
  tenon::Core core;
  auto model = core.compile_model(argv[1], "CPU");
  auto request = model.create_infer_request();
  request.infer();
  std::printf("consumer: %s on CPU gives %s\n", argv[1], tenon::to_string(request.get_output_tensor(0)).c_str());
#endif
  return 0;
}
