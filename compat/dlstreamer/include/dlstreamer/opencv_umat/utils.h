// SPDX-License-Identifier: Apache-2.0
// As those of cv::Mat.
#pragma once

#include "dlstreamer/opencv/utils.h"
