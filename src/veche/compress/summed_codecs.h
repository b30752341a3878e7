#pragma once

#include "veche/compress/summed_codec.h"

namespace veche {

// What make_summed_codec chooses from.
std::unique_ptr<SummedCodec> make_summed_randomk(double part, const StreamShape& shape);
std::unique_ptr<SummedCodec> make_summed_powersgd(int rank, const StreamShape& shape);

}  // namespace veche
