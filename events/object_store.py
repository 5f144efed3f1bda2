"""Objects of an S3-compatible store that are written once: put if absent, get, list."""

from typing import Any

from arbor.events.errors import InvalidInputError, LogError

_TAKEN = frozenset({"PreconditionFailed", "412"})
_AGAIN = frozenset({"ConditionalRequestConflict", "409"})
_ABSENT = frozenset({"NoSuchKey", "404"})
_ATTEMPTS = 5


class ObjectStore:
    """A prefix of a bucket.

    Args:
        client: an S3 client of boto3.
        bucket: name of the bucket; it exists.
        prefix: begins the name of every object, without a slash at its end.
    """

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix.strip("/")

    def __str__(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}"

    @classmethod
    def connect(cls, url: str) -> "ObjectStore":
        """Return the store of ``s3://bucket/prefix`` with the credentials that boto3 finds.

        Raises:
            InvalidInputError: the URL has another form, or boto3 is not installed.
        """
        scheme, _, rest = url.partition("://")
        bucket, _, prefix = rest.partition("/")
        if scheme != "s3" or not bucket or not prefix.strip("/"):
            raise InvalidInputError(f"{url!r} is no store: give s3://BUCKET/PREFIX")
        try:
            import boto3  # noqa: PLC0415 - optional
        except ImportError as error:
            raise InvalidInputError(
                f"{url} needs boto3: pip install 'arbor-inference[object-store]'"
            ) from error
        return cls(boto3.client("s3"), bucket, prefix)

    def put(self, name: str, data: bytes) -> bool:
        """Store an object unless there is one of its name; return whether this one is there.

        Raises:
            LogError: the store failed; whether it is there is unknown.
        """
        for _ in range(_ATTEMPTS):
            try:
                self._client.put_object(
                    Bucket=self._bucket, Key=self._key(name), Body=data, IfNoneMatch="*"
                )
            except Exception as error:
                code = _code(error)
                if code in _TAKEN:
                    # The answer to an earlier try may have been lost on the way.
                    return self.get(name) == data
                if code not in _AGAIN:
                    raise self._failed("written", name, error) from error
            else:
                return True
        raise LogError(f"{self}/{name} cannot be written: others write it all the time; resume")

    def get(self, name: str) -> bytes:
        """Return an object.

        Raises:
            FileNotFoundError: there is none.
            LogError: the store failed.
        """
        try:
            found = self._client.get_object(Bucket=self._bucket, Key=self._key(name))
            data: bytes = found["Body"].read()
        except Exception as error:
            if _code(error) in _ABSENT:
                raise FileNotFoundError(f"{self}/{name}") from error
            raise self._failed("read", name, error) from error
        return data

    def names(self, folder: str, after: str = "") -> list[str]:
        """Return the names in a folder beyond a name, in order.

        Raises:
            LogError: the store failed.
        """
        begin = self._key(f"{folder}/")
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=begin, StartAfter=begin + after
            )
            return [
                each["Key"][len(begin) :] for page in pages for each in page.get("Contents", ())
            ]
        except Exception as error:
            raise self._failed("listed", folder, error) from error

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _failed(self, verb: str, name: str, error: Exception) -> LogError:
        text = " ".join(str(error).split())
        return LogError(
            f"{self}/{name} cannot be {verb} ({text}): check address, credentials and network,"
            " then resume"
        )


def _code(error: Exception) -> str:
    """Return the code of a store's answer, empty when it gave none."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))
