// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that this OpenCV's headers and core library match.
#include <opencv2/core.hpp>
#include <opencv2/core/mat.hpp>

int main() {
  cv::Mat mat(2, 3, CV_8UC1);
  cv::Mat copy;
  mat.copyTo(copy);
  return copy.rows == 2 && cv::Mat::getStdAllocator() != nullptr ? 0 : 1;
}
