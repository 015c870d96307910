// SPDX-License-Identifier: Apache-2.0
// The demo as most programs have it: OpenCV's VideoCapture and blobFromImage, then OpenVINO, one after the other.
#include <opencv2/dnn.hpp>
#include <opencv2/videoio.hpp>
#include <openvino/runtime/core.hpp>

#include <tenon/bench/peers/demo.hpp>

static void detect(tenon::peers::Demo& demo) {
  ov::Core core;
  auto compiled = core.compile_model(demo.model, "CPU", ov::hint::inference_precision(ov::element::f32));
  auto request = compiled.create_infer_request();
  const auto port = compiled.input();
  const ov::Shape shape = port.get_shape();
  const cv::Size size(static_cast<int>(shape[3]), static_cast<int>(shape[2]));

  cv::VideoCapture capture(demo.video);
  if (!capture.isOpened()) throw std::runtime_error("cannot open " + demo.video);
  demo.start(static_cast<std::size_t>(capture.get(cv::CAP_PROP_FRAME_WIDTH)),
             static_cast<std::size_t>(capture.get(cv::CAP_PROP_FRAME_HEIGHT)));
  cv::Mat picture;
  while (capture.read(picture)) {
    cv::Mat blob = cv::dnn::blobFromImage(picture, 1 / 255.0, size, cv::Scalar(), true);
    request.set_input_tensor(ov::Tensor(port.get_element_type(), shape, blob.data));
    request.infer();
    const ov::Tensor output = request.get_output_tensor();
    demo.frame(output.get_shape(), output.data<float>());
  }
  demo.finish();
}

int main(int argc, char** argv) { return tenon::peers::run(argc, argv, detect); }
