// SPDX-License-Identifier: Apache-2.0
// CPUTensor: the header of base/context.h has it, since every context can be mapped to the host.
#pragma once

#include "dlstreamer/base/context.h"
