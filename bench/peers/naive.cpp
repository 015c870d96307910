// SPDX-License-Identifier: Apache-2.0
// The demo as most programs have it: OpenCV's VideoCapture, its calls for colour, size and values, then OpenVINO, one
// after the other.
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <openvino/runtime/core.hpp>

#include "demo_internal.hpp"

static void detect(tenon::peers::Demo& demo) {
  ov::Core core;
  auto compiled = core.compile_model(demo.model, "CPU", ov::hint::inference_precision(ov::element::f32));
  auto request = compiled.create_infer_request();
  ov::Tensor input = request.get_input_tensor();
  const int height = static_cast<int>(input.get_shape()[2]), width = static_cast<int>(input.get_shape()[3]);
  std::vector<cv::Mat> planes;
  for (int c = 0; c < 3; ++c) planes.emplace_back(height, width, CV_32F, input.data<float>() + c * height * width);

  cv::VideoCapture capture(demo.video);
  if (!capture.isOpened()) throw std::runtime_error("cannot open " + demo.video);
  demo.start(static_cast<std::size_t>(capture.get(cv::CAP_PROP_FRAME_WIDTH)),
             static_cast<std::size_t>(capture.get(cv::CAP_PROP_FRAME_HEIGHT)));
  cv::Mat picture, small, rgb, values;
  while (capture.read(picture)) {
    cv::resize(picture, small, {width, height});
    cv::cvtColor(small, rgb, cv::COLOR_BGR2RGB);
    rgb.convertTo(values, CV_32F, 1 / 255.0);
    cv::split(values, planes);
    request.infer();
    const ov::Tensor output = request.get_output_tensor();
    demo.frame(output.get_shape(), output.data<float>());
  }
  demo.finish();
}

int main(int argc, char** argv) { return tenon::peers::run(argc, argv, detect); }
