// Detections drawn on their picture, for people to look at.
#pragma once

#include <span>

#include "data/detections.h"
#include "data/picture.h"

namespace requal::data {

/// Draws each box as an outline in a colour of its category, with "category id, score in percent" in small digits above it.
void draw_detections(Picture& picture, std::span<const Detection> detections);

}  // namespace requal::data
