import OriginServer
import Testing
