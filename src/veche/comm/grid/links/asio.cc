// Compiles Asio once.
#include <asio/impl/src.hpp>
