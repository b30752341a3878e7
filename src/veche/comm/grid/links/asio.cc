// Asio's own code, once.
#include <asio/impl/src.hpp>
